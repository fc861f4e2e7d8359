# shellcheck shell=bash
# Prints the size in bytes of a compacted copy of a node's H2 file, in the container of the node.
#
# The node goes on writing to its file. H2 opens a copy of it at its last complete chunk, as after a crash. The classes
# are those of the node itself, so they know the format. The copy is in the volume of the node: besides its memory,
# nothing else of the container can be written. A copy that a killed command left is deleted.
set -e
jar=$(ls /opt/corda/lib/h2-*.jar)
rm -rf /opt/corda/persistence/copy.*
copy=$(mktemp -d /opt/corda/persistence/copy.XXXXXX)
trap 'rm -rf "$copy"' EXIT
cp /opt/corda/persistence/persistence.mv.db "$copy/copy.mv.db"
java -Xmx128m -XX:+UseSerialGC -cp "$jar" org.h2.mvstore.MVStoreTool -compact "$copy/copy.mv.db" > /dev/null
wc -c < "$copy/copy.mv.db"
