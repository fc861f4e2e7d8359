"""Proves from the ledgers of all nodes that a run lost nothing, doubled nothing and made no value."""
