// catalog.hpp - the object ids of our own table, index and sequence.
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
};

// Error when distlock is not installed in this database.
const Oids &oids();

// Registers the invalidation callback; once, from _PG_init.
void watch_changes();

}  // namespace distlock::catalog
