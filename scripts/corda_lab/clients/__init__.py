"""HTTP clients for the bridge and Prometheus."""
