"""Workloads: read, checked and rendered by one piece of code, which the generator and the command line share.

A new workload is a file in ``configs/workloads/`` and nothing here. In the order in which a workload passes through:

- ``yaml_source``, ``schema``: the file with the line of every field; its fields. A new field begins in ``schema``.
- ``workload``: everything that a file says, as ``Workload``; ``overrides`` are the values that ``--set`` changes in it.
- ``templates``, ``values``, ``prepared``: what ``{{ … }}`` may contain, and what it draws from. A new name begins in
  both ``templates`` and ``values``.
- ``flows``, ``flow_arguments``, ``network``: what a network offers, whether arguments fit, and the workload bound to
  the network.
- ``starts``: every flow start with its arguments rendered, to be tried before a run.
- ``problems``: what can be wrong, as data, and the errors that carry it. ``load``: the terms of a load. ``run_end``: the
  content of the end file.
- ``error_text``: the message of a failed request without its values, so that equal failures count as one.

It needs only pydantic, Jinja2 and PyYAML, and asks no server itself.
"""
