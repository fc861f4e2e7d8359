"""The lab on several hosts, as a stack of Docker Swarm. The registry and the clocks of the hosts are the user's."""
