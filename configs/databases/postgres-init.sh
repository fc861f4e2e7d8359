#!/usr/bin/env bash
# Runs once, on an empty PostgreSQL. Creates a role and a schema for every node that the network can have.
set -euo pipefail

for node in notary notary2 notary3 notary4 party{a,b,c,d,e,f,g,h,i,j,k}; do
  psql --set=ON_ERROR_STOP=1 --quiet --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" \
    --set=node="$node" --set=password="$POSTGRES_PASSWORD" << 'SQL'
CREATE ROLE :"node" LOGIN PASSWORD :'password';
CREATE SCHEMA :"node" AUTHORIZATION :"node";
ALTER ROLE :"node" SET search_path = :"node";
SQL
done
