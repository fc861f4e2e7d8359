"""Runs one load on the lab: generates it, reads all counters and returns the measured step."""
