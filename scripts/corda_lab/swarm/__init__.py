"""The lab on several hosts, as a stack of Docker Swarm. The registry and the clocks of the hosts are the user's.

- ``placement``, ``hosts``: placement files and how one fits a shape; the hosts and their checks.
- ``project``, ``stack``: from ``docker compose config`` to the stack file.
- ``images``, ``deploy``: what ``lifecycle``, which starts and stops a stack, does with it.
- ``folder``, ``deployment``, ``load_container``: the stack that runs.
"""
