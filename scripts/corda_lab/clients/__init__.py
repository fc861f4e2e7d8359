"""HTTP clients of the lab: the bridge and Prometheus."""
