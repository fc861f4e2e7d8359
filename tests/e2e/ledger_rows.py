"""Counts what the nodes of a lab on H2 have stored, in copies of their databases. The lab must be at rest."""

import csv
import io

from e2e.labkit import Lab

SCRIPT = """\
set -eu
copy=/opt/corda/persistence/counted
trap 'rm -f "$copy".* /tmp/counted.csv' EXIT
jar=$(ls /opt/corda/lib/h2-*.jar)
cp /opt/corda/persistence/persistence.mv.db "$copy.mv.db"
java -Xmx128m -XX:+UseSerialGC -cp "$jar" org.h2.tools.Shell -url "jdbc:h2:file:$copy;IFEXISTS=TRUE" -user sa \
  -password '' -sql "call csvwrite('/tmp/counted.csv', 'select (select count(*) from node_transactions) transactions,
    (select count(*) from vault_states) states, (select count(*) from node_attachments) attachments');" >&2
cat /tmp/counted.csv
"""

LedgerRows = dict[str, dict[str, int]]
"""Node → what → how many."""


def count(lab: Lab) -> LedgerRows:
    """Count the transactions, the states in the vault and the attachments of every node."""
    found: LedgerRows = {}
    for node in lab.settings.nodes:
        (row,) = csv.DictReader(io.StringIO(lab.inside(node.lower(), SCRIPT)))
        found[node] = {name.lower(): int(value) for name, value in row.items()}
    return found
