"""The lab on several hosts, as a stack of Docker Swarm.

- ``schema``, ``placement``: placement files, ``configs/placements/*.yaml``, read and checked.
- ``project``: the project as ``docker compose config`` prints it, with a type for every field.
- ``fit``: how a placement fits the project in one shape.
- ``shared_files``: files that services share on one machine, as secrets and configs.
- ``images``: names of images in the registry of the stack.
- ``rules``: what becomes of each field of a service, and why.
- ``stack``: the stack file, derived from all of these.
"""
