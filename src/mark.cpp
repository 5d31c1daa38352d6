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

enum Column { kResource, kToken, kRaiser, kRaisedAt, kColumns };

Table mark_table() { return {catalog::oids().mark, &catalog::oids().mark_key}; }

// Writers under one token share it; a raise keeps them out.  Tokens are positive.
LOCKTAG token_tag(std::string_view resource, int64 token) {
    return lock_tag(LockClass::kResource, lock_hash(resource, token));
}

// One raise of the resource at a time looks and writes.
LOCKTAG raise_tag(std::string_view resource) {
    return token_tag(resource, static_cast<int64>(checks::Realm::kResource));
}

struct Mark {
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    HeapTuple tuple = nullptr;

    // The rows come with the highest token first.
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

int64 token_of(TupleTableSlot *slot) {
    bool null = false;
    return DatumGetInt64(slot_getattr(slot, kToken + 1, &null));
}

// Another token than this that an open transaction of another session raises the mark to; 0 = none.
int64 pending_rival(std::string_view resource, int64 token) {
    ScanKeyData keys[] = {text_key(1, resource)};
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    int64 rival = 0;
    scan_versions(mark_table(), keys, &dirty, [&](TupleTableSlot *slot) {
        const bool pending =
            TransactionIdIsValid(dirty.xmin) && !TransactionIdIsCurrentTransactionId(dirty.xmin);
        if (pending && token_of(slot) != token) rival = token_of(slot);
        return rival == 0;
    });
    return rival;
}

// What another raise to the same token removes at the same time is left to that one, and should it
// roll back, to the next.  The snapshot stays until all are deleted: no line pointer is reused.
void delete_lower(std::string_view resource, int64 token) {
    ScanKeyData keys[] = {text_key(1, resource)};
    pg::with_fresh_snapshot([&](Snapshot fresh) {
        scan_versions(mark_table(), keys, fresh, [&](TupleTableSlot *slot) {
            if (token_of(slot) < token) (void)delete_row(mark_table(), slot->tts_tid);
            return true;
        });
        return true;
    });
}

// A row for each transaction that raises: those with equal tokens do not wait for one another, and
// the mark is raised by whichever commits.
void write_mark(std::string_view resource, int64 token) {
    txn::before_write();
    Datum values[kColumns];
    bool nulls[kColumns] = {};
    values[kResource] = pg::text_datum(resource);
    values[kToken] = Int64GetDatum(token);
    values[kRaiser] =
        Int64GetDatum(static_cast<int64>(U64FromFullTransactionId(GetTopFullTransactionId())));
    values[kRaisedAt] = TimestampTzGetDatum(GetCurrentTimestamp());
    write_row(mark_table(), values, nulls, nullptr);
    delete_lower(resource, token);
    txn::after_write(txn::Write::kDurable);
}

// Who has passed the mark already must not queue: two of them would wait for each other.
void take(std::string_view resource, const LOCKTAG &tag, LOCKMODE mode) {
    const bool passed = checks::find(resource, checks::Realm::kResource) != nullptr;
    if (passed ? !lock_now(tag, mode) : !lock_within(tag, mode, kPatienceMs))
        report_pinned("raise the mark of resource", resource, tag, mode);
}

// Writes the mark if it still is `from` and nobody raises it to another token; else says whom to
// wait for: the other token, or 0.
bool write_if_next(std::string_view resource, int64 from, int64 token, int64 *rival) {
    const LOCKTAG turn = raise_tag(resource);
    if (!lock_within(turn, ExclusiveLock, kPatienceMs))
        report_pinned("raise the mark of resource", resource, turn, ExclusiveLock);
    // In this order: what commits between the two reads is seen by one of them.
    *rival = pending_rival(resource, token);
    const bool next = *rival == 0 && Mark(resource).token() == from;
    if (next) write_mark(resource, token);
    unlock(turn, ExclusiveLock);
    return next;
}

// Keeps writers under the mark as it was out to the end of the transaction.  False when the mark
// has changed meanwhile.
bool raise_mark(std::string_view resource, int64 from, int64 token) {
    const LOCKTAG old = token_tag(resource, from), own = token_tag(resource, token);
    if (from != 0) take(resource, old, ShareLock);
    take(resource, own, RowExclusiveLock);
    int64 rival = 0;
    if (write_if_next(resource, from, token, &rival)) {
        // The second entry in the server's lock table counts like a lock.
        if (from != 0)
            txn::touch(psprintf("%.*s " INT64_FORMAT, static_cast<int>(resource.size()),
                                resource.data(), from));
        return true;
    }
    unlock(own, RowExclusiveLock);
    if (from != 0) unlock(old, ShareLock);
    if (rival != 0) {
        const LOCKTAG other = token_tag(resource, rival);
        take(resource, other, ShareLock);
        unlock(other, ShareLock);
    }
    return false;
}

// Takes the lock and looks again; true when the token is the mark, or is going to be it.
bool pin(std::string_view resource, int64 token, const Site &site) {
    const Mark seen(resource);
    refuse_lower(resource, token, seen, site);
    if (token > seen.token()) return raise_mark(resource, seen.token(), token);
    take(resource, token_tag(resource, token), RowExclusiveLock);
    const Mark now(resource);
    refuse_lower(resource, token, now, site);
    if (now.token() == token) return true;
    unlock(token_tag(resource, token), RowExclusiveLock);  // somebody has removed it by hand
    return false;
}

}  // namespace

bool reaches_mark(std::string_view resource, int64 token) {
    return token > 0 && token >= Mark(resource).token();
}

void pass_mark(std::string_view resource, int64 token, const Site &site) {
    const checks::Check *check = checks::find(resource, checks::Realm::kResource);
    if (check != nullptr && check->token == token) return;
    while (!pin(resource, token, site)) CHECK_FOR_INTERRUPTS();
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
