#!/usr/bin/env bash
# Runs once, on an empty PostgreSQL. Creates a role and a schema for every node that the network can have, and a role
# for the exporter. Their passwords are files, and so neither in the environment nor on a command line. PostgreSQL logs
# statements that fail, and psql prints their lines; both must not, because these have passwords in them.
set -euo pipefail

create() {
  if [[ ! -s /secrets/$1 ]]; then
    echo "/secrets/$1 is missing: the bootstrapper has not made a password for $1" >&2
    exit 1
  fi
  ROLE=$1 PGOPTIONS='-c log_min_error_statement=panic' psql --set=ON_ERROR_STOP=1 --set=VERBOSITY=terse --quiet \
    --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --set=role="$1"
}

for node in notary notary2 notary3 notary4 party{a,b,c,d,e,f,g,h,i,j,k}; do
  create "$node" << 'SQL'
\set password `cat "/secrets/$ROLE"`
CREATE ROLE :"role" LOGIN PASSWORD :'password';
CREATE SCHEMA :"role" AUTHORIZATION :"role";
ALTER ROLE :"role" SET search_path = :"role";
SQL
done
create exporter << 'SQL'
\set password `cat "/secrets/$ROLE"`
CREATE ROLE :"role" LOGIN PASSWORD :'password' IN ROLE pg_monitor;
SQL
