# shellcheck shell=sh
# Runs commands of psql in the container of PostgreSQL. Arguments: the commands, in pieces.
printf "%s" "$@" | psql --username=lab --dbname=corda --no-psqlrc --quiet --tuples-only --no-align
