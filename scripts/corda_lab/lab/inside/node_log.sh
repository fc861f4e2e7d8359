# shellcheck shell=sh
# Reads the log of a node, in the container of the node or in one that sees its volume. Arguments: the base directory of
# the node, then one of
#   about            the settings of the node, which have its passwords, and after a mark the names of its older logs
#   names            the same without the settings
#   archive NAME...  older logs, compressed
#   current          the current log
#   root TIME        the last cause of an error since a time, of which the second is the smallest part
#   follow           the current log and what is added to it, until the input of this script ends
cd "$1" || exit 3
verb=$2
shift 2
case "$verb" in
  about | names)
    if [ "$verb" = about ]; then
      cat node.conf || exit 4
    fi
    echo
    echo @@
    ls logs/archive 2> /dev/null
    exit 0
    ;;
  archive)
    cd logs/archive && cat -- "$@"
    ;;
  current)
    cd logs && cat node-*.log
    ;;
  root)
    awk -v since="$1" '
      match($0, /^\[[A-Z]+ *\] [0-9T:,-]+Z/) { is_new = substr($0, index($0, "] ") + 2, 19) >= since }
      is_new && /^Caused by: / { root = $0 }
      END { print root }' logs/node-*.log
    ;;
  follow)
    cd logs || exit 3
    # So nothing goes on in the container when the command that reads has ended, however.
    tail -n +1 -F node-*.log 2> /dev/null &
    follower=$!
    cat > /dev/null
    kill "$follower"
    ;;
esac
