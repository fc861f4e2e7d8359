"""Fixtures of the load generator's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit import Locust, StubBridge


@pytest.fixture
def bridge() -> Iterator[StubBridge]:
    stub = StubBridge()
    yield stub
    stub.close()


@pytest.fixture
def locust(tmp_path: Path, bridge: StubBridge) -> Iterator[Locust]:
    process = Locust(tmp_path, bridge.url)
    yield process
    process.close()
