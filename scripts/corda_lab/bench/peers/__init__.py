"""``lab bench peers``: the lab beside a direct RPC client and Apache JMeter."""
