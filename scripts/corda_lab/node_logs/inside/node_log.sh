# shellcheck shell=sh
# Reads the log of a node, in the container of the node or in one that sees its volume. Arguments: the base directory of
# the node, then one of
#   settings     the settings of the node, which have its passwords
#   read DAY     older logs since a day (2026-01-02; empty: all of them), oldest first, then the current log
#   follow DAY   the same, and what is added to it, until the input of this script ends
#   root TIME    the last cause of an error since a time, of which the second is the smallest part
cd "$1" || exit 3

older() {
  # Their names end with a day and a number on that day: node-partya.2026-01-02-10.log.gz
  printf '%s\n' logs/archive/node-*.log.gz |
    sed -n 's/.*\.\([0-9]*-[0-9]*-[0-9]*\)-\([0-9]*\)\.log\.gz$/\1 \2 &/p' |
    sort -k 1,1 -k 2,2n |
    awk -v since="$1" '$1 >= since { print $3 }' |
    while read -r path; do gzip -cd "$path" || exit 4; done
}

case "$2" in
  settings)
    cat node.conf
    ;;
  read)
    older "$3" && cat logs/node-*.log
    ;;
  follow)
    older "$3" || exit 4
    # So nothing goes on in the container when the command that reads has ended, however.
    tail -n +1 -F logs/node-*.log 2> /dev/null &
    follower=$!
    cat > /dev/null
    kill "$follower"
    ;;
  root)
    awk -v since="$3" '
      match($0, /^\[[A-Z]+ *\] [0-9T:,-]+Z/) { is_new = substr($0, index($0, "] ") + 2, 19) >= since }
      is_new && /^Caused by: / { root = $0 }
      END { print root }' logs/node-*.log
    ;;
esac
