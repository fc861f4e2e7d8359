"""The load generator: extends Locust, from its command-line arguments to the row of every request.

- ``form``, ``generator_settings``: the plan of a run, from ``plan.json`` or from the fields of the web UI, and the
  environment variables.
- ``bridge_client``, ``setup``: what is checked and prepared before the clock starts.
- ``process_run``: one run in one process: its requests, rows and summary. ``schedule`` and ``pool`` make the arrivals
  of open load, ``answer`` parses the bridge's answers, ``same_failure`` detects that all requests fail in the same way,
  and ``cpu`` measures the generator's own CPU utilisation.
- ``row_writer``: the files that a run writes. A value of a run is a field of ``lab_workload.run_end.RunEnd``, which
  ``process_run`` sets and combines; a column of the rows is a field of ``lab_workload.row.Row``.
- ``generator``, ``distributed``: the run within Locust's events, in one process or with workers.
- ``metrics``, ``origins``: the Prometheus endpoint, and the check of requests to the web UI.
- ``web_ui``: what the lab adds to the web UI, and the files of loads that a user starts there.

Loads, workloads and plans are in ``lab_workload``. Only ``generator`` and ``distributed`` import Locust, which patches
the standard library when it is imported.
"""
