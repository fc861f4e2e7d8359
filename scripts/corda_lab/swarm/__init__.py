"""The lab on several hosts, as a stack of Docker Swarm.

- ``schema``, ``placement``: placement files, ``configs/placements/*.yaml``, read and checked.
"""
