"""Kills parts of the lab during loads, and proves what became of every flow."""
