#!/usr/bin/env bash
# Runs once, on an empty PostgreSQL. Creates a role and a schema for every node that the network can have, and a role
# for the exporter, with a function that tells it what the container uses. The passwords are files, and so neither in
# the environment nor on a command line. PostgreSQL logs statements that fail, and psql prints their lines; both must
# not, because these have passwords in them.
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

-- What the container of PostgreSQL uses, from its control group (version 2, else 1), which only a process in it can read.
-- Reading files needs a superuser. The exporter may call this function, and so learns these two numbers and no more.
CREATE FUNCTION public.lab_container(OUT cpu_seconds double precision, OUT memory_bytes double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT
    COALESCE(
      substring(pg_read_file('/sys/fs/cgroup/cpu.stat', 0, 65536, true) FROM 'usage_usec ([0-9]+)')::float8 / 1e6,
      pg_read_file('/sys/fs/cgroup/cpuacct/cpuacct.usage', 0, 65536, true)::float8 / 1e9
    ),
    COALESCE(
      substring(pg_read_file('/sys/fs/cgroup/memory.stat', 0, 65536, true) FROM 'anon ([0-9]+)'),
      substring(pg_read_file('/sys/fs/cgroup/memory/memory.stat', 0, 65536, true) FROM 'total_rss ([0-9]+)')
    )::float8
$$;
REVOKE EXECUTE ON FUNCTION public.lab_container() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.lab_container() TO :"role";
SQL
