"""What the engine of a host says about itself."""

import pytest

from corda_lab.swarm.hosts import parse_facts

INFO = """\
{"ServerVersion": "20.10.24", "NCPU": 4, "MemTotal": 8589934592, "Architecture": "x86_64",
 "SystemTime": "2026-11-26T02:00:00.123456789Z", "Swarm": {"NodeID": "abc", "LocalNodeState": "active"}}"""


def test_an_engine_says_what_it_is_and_what_time_it_has() -> None:
    noon = 1795658400.0
    facts = parse_facts(INFO, noon - 0.1, noon + 0.3)
    assert (facts.version, facts.node, facts.cores, facts.memory) == ("20.10.24", "abc", 4, 8 * 1024**3)
    assert facts.clock.offset_seconds == pytest.approx(0.023456, abs=1e-5)
    assert facts.clock.error_seconds == pytest.approx(0.2)


@pytest.mark.parametrize(
    "time_text", ["2026-11-26T02:00:00.12Z", "2026-11-26T02:00:00Z", "2026-11-26T04:00:00.1+02:00"]
)
def test_a_time_of_fewer_digits_or_another_zone_is_read(time_text: str) -> None:
    facts = parse_facts(INFO.replace("2026-11-26T02:00:00.123456789Z", time_text), 1795658400.0, 1795658400.0)
    assert abs(facts.clock.offset_seconds) < 0.2
