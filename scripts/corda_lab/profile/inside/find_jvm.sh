# shellcheck shell=bash
# Prints the version of async-profiler and the path of each JVM's command line.
# Arguments: the launcher of async-profiler, and the main class, as a pattern that does not match this command line.
if [ ! -x "$1" ]; then
  echo missing
  exit
fi
"$1" --version
grep --files-with-matches --line-regexp --null-data "$2" /proc/[0-9]*/cmdline 2> /dev/null
exit 0
