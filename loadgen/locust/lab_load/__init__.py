"""The load generator: what makes Locust the lab's own, from its arguments to the row of every request.

- ``locust_arguments``, ``choice``, ``generator_settings``: what a run is asked for, and what the environment sets.
- ``load_plan``, ``bridge_client``, ``setup``, ``attachment``: everything decided, checked and prepared before the clock
  starts.
- ``process_run``: one run in one process: its requests, their rows, its summary. ``schedule`` and ``pool`` are the
  arrivals of open load, ``answer`` is how the bridge's answers are read, ``same_failure`` whether all of them are the same
  error, ``cpu`` the generator's own CPU use.
- ``row_writer``, ``end_file``: the files that a run leaves. A new value of a run begins in ``end_file``, whose first
  lines name the places; a new column of the rows begins in ``row_writer.Row``.
- ``generator``, ``distributed``, ``messages``: the run within Locust's events, in one process or with workers.
- ``metrics``, ``origins``: the Prometheus endpoint, and who may use the web UI.

Workloads themselves are in ``lab_workload``. Only ``generator``, ``distributed`` and ``locust_arguments`` import Locust,
which patches the standard library when it is imported.
"""
