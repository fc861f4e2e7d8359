"""Reads, checks and renders workloads. The generator and the command line share this package.

A new workload is a file in ``configs/workloads/``; it needs no code here. The modules, in the order of processing:

- ``yaml_source``, ``schema``: read the file with the line of every field, and define its fields. To add a field, begin
  in ``schema``.
- ``workload``: the whole content of a file, as ``Workload``. ``overrides``: values that ``--set`` replaces in it.
- ``templates``, ``values``, ``prepared``: what ``{{ … }}`` may contain, and the values that it uses. To add a name,
  begin in ``templates`` and ``values``.
- ``flows``, ``flow_arguments``, ``network``: what a network offers, whether arguments fit a flow, and a workload bound
  to a network.
- ``starts``: one start of each flow with rendered arguments, for a check before the run.
- ``problems``: problems as data, and the errors that carry them. ``load``: the terms of a load. ``run_end``: the
  content of the end file. ``by_hand``: the files about a load of the web UI.
- ``about``: what a workload does, in words.
- ``error_text``: the message of a failed request without its values, so that equal failures are counted together.

The package needs only pydantic, Jinja2 and PyYAML, and sends no requests itself.
"""
