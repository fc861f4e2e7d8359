# shellcheck shell=bash
# Reads the H2 files of nodes in a container on the image of a node. Nodes that could not be read come first.
# Arguments: statements that each write a table as CSV; then each node and its file, as PartyA=/path.
#
# A node goes on writing to its file, and H2 lets only one process open it. A copy opens at its last complete chunk, as
# after a crash, with the classes of the node's image, which know the format. H2 takes back what was not committed, so
# the copy must not be opened read-only. Each node has a folder of its own, which ends with the container.
set -u
sql=$1
shift
jar=$(ls /opt/corda/lib/h2-*.jar) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Each takes about 200 MB, and the container has 1 GB.
at_once=$(nproc)
at_once=$((at_once < 2 ? 2 : at_once > 4 ? 4 : at_once))

# Rows are written as they are read, not kept until all are there.
read_node() {
  cd "$work/$1" && cp "$2" copy.mv.db || return 1
  java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jar" org.h2.tools.Shell \
    -url "jdbc:h2:file:$PWD/copy;IFEXISTS=TRUE;LAZY_QUERY_EXECUTION=1" -user sa -password '' -sql "$sql" || return 1
  rm copy.mv.db
}

# H2's shell goes on after a statement that fails. Only the tables of other kinds of notaries may be missing.
absent='Table "[^"]*" not found'
is_whole() {
  ! grep -E '^Error:' "$1" | grep -qvE "$absent"
}

for one in "$@"; do
  node=${one%%=*}
  mkdir "$work/$node"
  ({ read_node "$node" "${one#*=}" > "$work/$node.log" 2>&1 && is_whole "$work/$node.log"; } ||
    touch "$work/$node.failed") &
  while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
done
wait

for one in "$@"; do
  node=${one%%=*}
  if [ -e "$work/$node.failed" ]; then
    echo "@@ $node/failed"
    echo WHY
    { grep -vE "$absent" "$work/$node.log" | grep -i -m 1 -E 'exception|error|denied|space|no such' ||
      tail -n 1 "$work/$node.log"; } |
      tr '\n",' '   '
    echo
  fi
done
for one in "$@"; do
  node=${one%%=*}
  if [ -e "$work/$node.failed" ]; then continue; fi
  for table in "$work/$node"/*.csv; do
    name=${table##*/}
    echo "@@ $node/${name%.csv}"
    cat "$table"
  done
done
echo "@@ end"
