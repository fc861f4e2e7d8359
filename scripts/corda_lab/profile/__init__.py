"""Profiles of running JVMs: starts and stops async-profiler in a container, and names the components in its stacks."""
