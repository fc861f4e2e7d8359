"""What one load on one lab came to. Pure computation: rows in, values out, no Docker and no HTTP."""
