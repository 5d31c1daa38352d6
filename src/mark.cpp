// mark.cpp - see mark.hpp.
#include "mark.hpp"

#include "arguments.hpp"
#include "catalog.hpp"
#include "check.hpp"
#include "errors.hpp"
#include "renew.hpp"
#include "report.hpp"
#include "rows.hpp"
#include "txn.hpp"

namespace distlock {
namespace {

enum Column { kResource, kToken, kRaisedAt, kColumns };

Table mark_table() { return {catalog::oids().mark, &catalog::oids().mark_key}; }

LOCKTAG resource_tag(std::string_view resource) {
    return lock_tag(LockClass::kResource,
                    lock_hash(resource, static_cast<int64>(checks::Realm::kResource)));
}

struct Mark {
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    HeapTuple tuple = nullptr;

    explicit Mark(std::string_view resource) {
        ScanKeyData keys[] = {text_key(1, resource)};
        tuple = find_row(mark_table(), keys, values, nulls);
    }
    int64 token() const { return tuple == nullptr ? 0 : DatumGetInt64(values[kToken]); }
};

void refuse_lower(std::string_view resource, int64 token, const Mark &mark, const Site &site) {
    if (token > 0 && token >= mark.token()) return;
    ereport(ERROR, errcode(kStaleToken),
            errmsg("stale fencing token " INT64_FORMAT " for resource \"%.*s\"", token,
                   static_cast<int>(resource.size()), resource.data()),
            mark.tuple == nullptr
                ? errdetail("It has no high-water mark yet; tokens are positive.")
                : errdetail("Its high-water mark is " INT64_FORMAT ", reached at %s.", mark.token(),
                            timestamptz_to_str(DatumGetTimestampTz(mark.values[kRaisedAt]))),
            errhint("This caller lost its lock in the other system. Throw its work away: acquire "
                    "again and start from a fresh read."),
            err_site(site));
}

void write_mark(std::string_view resource, int64 token) {
    Mark mark(resource);
    mark.values[kResource] = pg::text_datum(resource);
    mark.values[kToken] = Int64GetDatum(token);
    mark.values[kRaisedAt] = TimestampTzGetDatum(GetCurrentTimestamp());
    txn::before_write();
    write_row(mark_table(), mark.values, mark.nulls,
              mark.tuple == nullptr ? nullptr : &mark.tuple->t_self);
    txn::after_write(txn::Write::kDurable);
}

// Takes the tag and looks again; true when the token is the mark, or has become it.
bool pin(std::string_view resource, int64 token, const Site &site) {
    const LOCKTAG tag = resource_tag(resource);
    const LOCKMODE mode = token > Mark(resource).token() ? ExclusiveLock : RowExclusiveLock;
    // Who has passed the mark already must not queue for the raise: two of them would wait for each
    // other, and the server calls that a deadlock at once.
    const bool passed = checks::find(resource, checks::Realm::kResource) != nullptr;
    if (passed ? !lock_now(tag, mode) : !lock_within(tag, mode, kPatienceMs))
        report_pinned("raise the mark of resource", resource, tag, mode);
    const Mark mark(resource);
    refuse_lower(resource, token, mark, site);
    if (token > mark.token()) {
        if (mode != ExclusiveLock) {
            unlock(tag, mode);
            return false;
        }
        write_mark(resource, token);
    }
    return true;
}

}  // namespace

bool reaches_mark(std::string_view resource, int64 token) {
    return token > 0 && token >= Mark(resource).token();
}

void pass_mark(std::string_view resource, int64 token, const Site &site) {
    const checks::Check *check = checks::find(resource, checks::Realm::kResource);
    if (check != nullptr && check->token == token) return;
    refuse_lower(resource, token, Mark(resource), site);
    while (!pin(resource, token, site)) {
    }
    txn::touch(resource);
    checks::add(resource, token, PG_INT64_MAX, checks::Realm::kResource);
}

}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_high_water) {
    const std::string_view resource = name_argument(fcinfo, 0);
    const int64 token = token_argument(fcinfo, 1);
    check_writable("high_water");
    check_prefix(resource);
    pass_mark(resource, token, {});
    return Int64GetDatum(token);
}
