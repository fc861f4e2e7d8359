# shellcheck shell=sh
# The file with the spans of a node, in its container. Arguments: one of
#   size BYTES   prints its size in bytes, and empties it before if it is larger; prints nothing if the node writes none
#   tail BYTE    prints it from a byte on, of which the first is 1
[ -n "$LAB_TRACES_FILE" ] && [ "$LAB_TRACES" != off ] || exit 0
if [ "$1" = size ]; then
  [ -f "$LAB_TRACES_FILE" ] || { echo 0; exit 0; }
  [ "$(wc -c < "$LAB_TRACES_FILE")" -le "$2" ] || : > "$LAB_TRACES_FILE"
  wc -c < "$LAB_TRACES_FILE"
elif [ -f "$LAB_TRACES_FILE" ]; then
  tail -c "+$2" "$LAB_TRACES_FILE"
fi
