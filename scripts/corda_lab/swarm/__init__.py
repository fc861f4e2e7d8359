"""The lab on several hosts, as a stack of Docker Swarm.

- ``schema``, ``placement``: placement files, ``configs/placements/*.yaml``, read and checked.
- ``project``: the project as ``docker compose config`` prints it, with a type for every field.
- ``fit``: how a placement fits the project in one shape.
"""
