"""The long suites of ``lab test``, what they store in ``docs/reliability/``, and the document of it."""
