"""Loads, workloads and plans. The generator and the command line share this package.

A new workload is a file in ``configs/workloads/``; it needs no code here. The modules, in the order of processing:

- ``load``, ``faults``, ``durations``: what is asked of the generator, as the one model ``Load``.
- ``yaml_source``, ``schema``, ``workload``: read a workload file with the line of every field, and
  check it. To add a field, begin in ``schema``. ``overrides``: values that ``--set`` replaces in it.
- ``templates``, ``values``, ``prepared``: what ``{{ … }}`` may contain, and the values that it uses. To add a name,
  begin in ``templates`` and ``values``.
- ``flows``, ``network``, ``subject``: what a network offers, a workload bound to it, and what a load is counted by.
- ``starts``: one start of each flow with rendered arguments, which the bridge checks before the run.
- ``plan``: the load, the workload and its parties, as the generator gets them.
- ``problems``, ``field_problems``: problems as data, and the errors that carry them.
- ``row``, ``run_end``, ``web_ui``: the rows, the end file, and what the web UI tells the command line.
- ``error_text``: the message of a failed request without its values, so that equal failures are counted together.

The package needs only pydantic, Jinja2 and PyYAML, and sends no requests itself.
"""
