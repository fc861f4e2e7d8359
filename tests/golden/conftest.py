"""The option that writes the golden values anew."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--write``."""
    parser.addoption("--write", action="store_true", help="write the golden values anew, and compare nothing")
