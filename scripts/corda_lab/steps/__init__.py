"""The result of one load on one lab. Pure computation: rows in, values out, no Docker and no HTTP."""
