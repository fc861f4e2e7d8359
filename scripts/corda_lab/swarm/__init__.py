"""The lab on several hosts, as a stack of Docker Swarm. The registry and the clocks of the hosts are the user's.

- ``placement``, ``fit``: placement files, and how one fits the project in one shape.
- ``project``, ``shared_files``, ``stack``: from ``docker compose config`` to the stack file.
- ``images``, ``bootstrap``, ``deploy``, ``access``, ``remove``: what ``lifecycle`` does with it.
- ``hosts``, ``doctor``: the hosts, and the checks of them.
- ``folder``, ``deployment``, ``load_container``: the stack that runs.
"""
