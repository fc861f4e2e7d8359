"""``lab chaos``: loads with faults, each followed by an audit of the ledgers, and the document of all of them."""
