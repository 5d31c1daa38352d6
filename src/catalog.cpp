// catalog.cpp - finding our own relations.
#include "catalog.hpp"

namespace distlock::catalog {
namespace {

constinit Oids known{};
constinit bool valid = false;
constinit uint64 changes = 0;

void relation_changed(Datum, Oid relation) {
    const Oid ours[] = {
        known.lease,   known.lease_key, known.token_seq, known.prefix_grant, known.prefix_grant_key,
        known.job,     known.job_key,   known.run,       known.run_key,      known.mark,
        known.mark_key};
    changes++;
    if (relation == InvalidOid) valid = false;
    for (const Oid oid : ours) valid = valid && oid != relation;
}

Oid member(Oid schema, const char *name) {
    const Oid oid = get_relname_relid(name, schema);
    if (!OidIsValid(oid))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
                errmsg("relation \"distlock.%s\" does not exist", name),
                errdetail("It is part of the extension distlock."),
                errhint("Install the extension again: DROP EXTENSION distlock; CREATE EXTENSION "
                        "distlock."));
    return oid;
}

}  // namespace

const Oids &oids() {
    if (valid) return known;
    const uint64 before = changes;
    const Oid schema = get_namespace_oid("distlock", true);
    if (!OidIsValid(schema))
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_SCHEMA),
                errmsg("distlock is not installed in this database"),
                errdetail("The schema \"distlock\" does not exist any more."),
                errhint("Run CREATE EXTENSION distlock."));
    known = {schema,
             member(schema, "lease"),
             member(schema, "lease_pkey"),
             member(schema, "token_seq"),
             member(schema, "prefix_grant"),
             member(schema, "prefix_grant_pkey"),
             member(schema, "job"),
             member(schema, "job_pkey"),
             member(schema, "run"),
             member(schema, "run_pkey"),
             member(schema, "mark"),
             member(schema, "mark_pkey")};
    valid = before == changes;  // else something came in meanwhile: look again next time
    return known;
}

bool installed() {
    const Oid schema = get_namespace_oid("distlock", true);
    return OidIsValid(schema) && OidIsValid(get_relname_relid("lease", schema));
}

Oid known_prefix_grant() { return known.prefix_grant; }

void watch_changes() { CacheRegisterRelcacheCallback(relation_changed, 0); }

}  // namespace distlock::catalog
