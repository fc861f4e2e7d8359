"""A Docker engine and the third-party images on a machine that has neither an engine nor a registry.

Nothing but Python's standard library is needed. `prepare.py` is the way in, for the lab and by hand; the rest of the
lab only uses the engine, and reads the names of stand-ins from ``.cache/stand-ins.env``.
"""
