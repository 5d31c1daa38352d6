// catalog.hpp - the object ids of our own tables, indexes and sequence.
//
// Looked up once per backend and forgotten when the relation cache says that one of them changed
// (DROP EXTENSION, TRUNCATE, restore in another session).
#pragma once
#include "pg.hpp"

namespace distlock::catalog {

struct Oids {
    Oid schema;
    Oid lease;
    Oid lease_key;  // the primary key: (name, slot)
    Oid token_seq;
    Oid prefix_grant, prefix_grant_key;
    Oid job, job_key;
    Oid run, run_key;
    Oid mark, mark_key;
};

// Error when distlock is not installed in this database.
const Oids &oids();

// Whether distlock is in this database (still).
bool installed();

// The table of prefix grants as known now, for invalidation callbacks; may be InvalidOid.
Oid known_prefix_grant();

// Registers the invalidation callback; once, from _PG_init.
void watch_changes();

}  // namespace distlock::catalog
