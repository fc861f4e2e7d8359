"""``lab chaos``: loads with faults that a seed draws, and what the ledgers lost, doubled or made by them."""
