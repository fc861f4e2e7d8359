"""``lab bench bridge``: generator and bridge beside a direct RPC client, at every number of flows in flight."""
