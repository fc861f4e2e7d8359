"""Which node can be recovered."""

import pytest

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE


@pytest.mark.parametrize(
    ("node", "database", "refused"),
    [("PartyA", "h2", False), ("Notary", "h2", False), ("PartyX", "h2", True), ("PartyA", "postgres", True)],
)
def test_a_node_of_the_lab_on_h2_can_be_recovered(node: str, database: str, refused: bool) -> None:
    settings = load_settings(ENV_FILE, {"DATABASE": database})
    if not refused:
        assert lifecycle.recoverable(settings, node.lower()) == node
        return
    with pytest.raises(LabError) as raised:
        lifecycle.recoverable(settings, node)
    assert raised.value.exit_code == 2
