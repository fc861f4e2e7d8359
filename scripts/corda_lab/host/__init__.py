"""This machine: its facts, its Docker engine, its packages and its processes."""
