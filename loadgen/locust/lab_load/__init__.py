"""The load generator: workload files, their templates, the rows of a run, and the Locust side that drives them.

``workload`` and ``templates`` need only pydantic, Jinja2 and PyYAML, so that the command line can check a workload
before anything starts; everything else runs inside Locust.
"""
