"""``lab bench overhead``: what the lab's own recording, monitoring and stage timing cost in throughput."""
