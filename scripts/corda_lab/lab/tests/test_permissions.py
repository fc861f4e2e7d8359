"""The RPC user of every node has the permissions that the lab's RPC clients need, and no others."""

import re
from collections.abc import Iterator
from pathlib import Path

from corda_lab.paths import CONFIGS, ROOT

CLIENTS = (ROOT / "loadgen" / "bridge" / "src", ROOT / "loadgen" / "peers" / "src" / "main")
PROXY = r"(?:\bops|\bconnections\.next\(\)|\bconnections\.first\(\)|\bforStarts\.get\(\)|\.getProxy\(\))"
CALL = re.compile(rf"{PROXY}\s*(?:\.|::)\s*(\w+)")
NO_OPERATION = {"get", "getFirst", "getProtocolVersion", "size", "stream"}
"""What is called on lists of proxies, and the only operation that needs no permission."""


def sources() -> Iterator[Path]:
    for folder in CLIENTS:
        yield from (path for path in folder.rglob("*.java") if "test" not in path.relative_to(folder).parts)


def called() -> set[str]:
    """The RPC operations that appear in the sources of the bridge and of the JMeter sampler."""
    return {name for path in sources() for name in CALL.findall(path.read_text(encoding="utf-8"))} - NO_OPERATION


def test_the_rpc_user_may_do_what_the_clients_do_and_no_more() -> None:
    text = (CONFIGS / "network.conf").read_text(encoding="utf-8")
    granted = re.findall(r"^ +InvokeRpc\.(\w+)$", text, re.MULTILINE)
    assert set(granted) == called()
    assert granted == sorted(granted)
    assert re.findall(r"\b(?:ALL|StartFlow)\b", text) == []
