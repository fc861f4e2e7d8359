"""The logs of the nodes: read from a lab, printed by ``lab logs``, and kept with a load that failed."""
