"""One lab at a time for tests that name the lab they need."""

from collections.abc import Iterator
from contextlib import contextmanager

from support.own_lab import one_at_a_time


def test_a_lab_is_kept_until_another_is_asked_for() -> None:
    told: list[str] = []

    @contextmanager
    def lab(name: str) -> Iterator[str]:
        told.append(f"up {name}")
        yield name
        told.append(f"down {name}")

    with one_at_a_time(lab) as use:
        assert [use(name) for name in ("h2", "h2", "postgres", "postgres")] == ["h2", "h2", "postgres", "postgres"]
    assert told == ["up h2", "down h2", "up postgres", "down postgres"]
