#!/usr/bin/env bash
# The parts of the official image's entrypoint that the lab needs.
set -euo pipefail
shopt -s nullglob

[[ ${1:-} != -* ]] || set -- postgres "$@"
[[ $1 == postgres ]] || exec "$@"

password=${POSTGRES_PASSWORD:-}
[[ -z ${POSTGRES_PASSWORD_FILE:-} ]] || password=$(< "$POSTGRES_PASSWORD_FILE")
export POSTGRES_USER=${POSTGRES_USER:-postgres}
export POSTGRES_DB=${POSTGRES_DB:-$POSTGRES_USER}

if [[ ! -s $PGDATA/PG_VERSION ]]; then
  [[ -n $password ]] || { echo "POSTGRES_PASSWORD is not set" >&2; exit 1; }
  chmod 700 "$PGDATA"
  read -r -a initdb_args <<< "${POSTGRES_INITDB_ARGS:-}"
  initdb --username="$POSTGRES_USER" --pwfile=<(echo "$password") --auth-local=trust --auth-host=scram-sha-256 \
    "${initdb_args[@]}"
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl --wait --silent --options="-c listen_addresses=''" start
  if [[ $POSTGRES_DB != postgres ]]; then
    psql --set=ON_ERROR_STOP=1 --quiet --username="$POSTGRES_USER" --dbname=postgres --set=name="$POSTGRES_DB" \
      <<< 'CREATE DATABASE :"name"'
  fi
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) bash "$file" ;;
      *.sql) psql --set=ON_ERROR_STOP=1 --quiet --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --file="$file" ;;
    esac
  done
  pg_ctl --wait --silent --mode=fast stop
fi
exec "$@" -c listen_addresses='*'
