"""Checks the lab against a system whose truth is known: stub nodes behind the real bridge, with the real pipeline."""
