"""``lab bench overload``: what the lab completes in time when it is offered more than it can serve."""
