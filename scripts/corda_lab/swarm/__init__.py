"""The lab on several hosts, as a stack of Docker Swarm.

- ``schema``, ``placement``: placement files, ``configs/placements/*.yaml``, read and checked.
- ``project``: the project as ``docker compose config`` prints it, with a type for every field.
- ``fit``: how a placement fits the project in one shape.
- ``shared_files``: files that services share on one machine, as secrets and configs.
- ``images``: names of images in the registry of the stack.
- ``rules``: what becomes of each field of a service, and why.
- ``stack``: the stack file, derived from all of these.

These ask no engine. The others do:

- ``hosts``, ``members``: engines by their docker contexts, and nodes as the manager of the swarm knows them.
- ``doctor``, ``measure``: checks of the hosts, and of the network between them.
- ``folder``, ``bootstrap``: the files of the network, with all keys, on the machine that deploys.
- ``overlays``, ``beside``, ``registry``, ``publish``: images, on their way to the hosts.
- ``deploy``, ``tasks``: hands the stack to Swarm, and waits until all services run.
- ``access``: ports of this machine that lead to the services.
- ``remove``: removes all of it again.
- ``lifecycle``: the order of these, for ``lab up`` and ``lab down``.
"""
