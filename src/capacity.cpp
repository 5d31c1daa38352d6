// capacity.cpp - set_capacity: the number of permits of a semaphore.
//
// ShareRowExclusive on slot 0 waits for grants that are under way and stops new ones; holders
// renew, release and write on meanwhile.  Of a lock that has been shared, the slots are locked,
// too.
#include "arguments.hpp"
#include "grant.hpp"
#include "judge.hpp"
#include "renew.hpp"
#include "report.hpp"
#include "txn.hpp"

namespace distlock {
namespace {

void refuse_held(std::string_view name, std::span<Lease> rows) {
    for (const Lease &row : rows)
        if (is_busy(row))
            ereport(ERROR, errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                    errmsg("lock \"%.*s\" is held and is not a semaphore",
                           static_cast<int>(name.size()), name.data()),
                    errdetail("%s", lock_facts(name, rows)),
                    errhint("Set the capacity when nobody holds it."));
}

// The lock becomes a semaphore: a shared grant that ran out must not stand beside permits, nor come
// back by a renewal that is under way.
void end_shared(std::string_view name, std::span<Lease> rows) {
    txn::require_room(rows.size());
    for (const Lease &row : rows) {
        const LOCKTAG tag = slot_tag(name, row.slot);
        if (row.slot != 0 && !lock_now(tag, ExclusiveLock))
            report_pinned("set the capacity of lock", name, tag, ExclusiveLock);
    }
    const std::span<Lease> now = read_lock(name);
    refuse_held(name, now);
    bury_expired_shared(name, now);
}

Lease new_header(std::string_view name) {
    Lease header{};
    header.name = cstring_to_text_with_len(name.data(), static_cast<int>(name.size()));
    header.token = 1;  // below every token that is handed out
    header.role = pg::acting_role();
    return header;
}

// The capacity before; nullopt when the lock was not known.
std::optional<int32> set_capacity(std::string_view name, int32 capacity) {
    const LOCKTAG tag = slot_tag(name, 0);
    // Two transactions that hold grants of the semaphore must not queue behind each other.
    if (txn::touched() ? !lock_now(tag, ShareRowExclusiveLock)
                       : !lock_within(tag, ShareRowExclusiveLock, kPatienceMs))
        report_pinned("set the capacity of lock", name, tag, ShareRowExclusiveLock);
    const std::span<Lease> rows = read_lock(name);
    std::optional<int32> previous;
    if (!rows.empty()) previous = is_semaphore(rows) ? capacity_of(rows) : 1;
    if (!is_semaphore(rows)) refuse_held(name, rows);
    // A lock that is free for a moment is still somebody's.
    if (!rows.empty()) check_holder(name, rows.back(), "set the capacity of");
    txn::before_write();
    if (!is_semaphore(rows)) end_shared(name, rows);
    const Lease *old = row_of_slot(rows, 0);
    Lease header = old != nullptr ? *old : new_header(name);
    const Instant now = clock_now();
    header.acquired = header.renewed = header.expires = after(now, 0);
    header.boot_id = now.boot_id;
    header.capacity = capacity;
    header.mode = Mode::kPermit;
    header.released = true;
    header.released_at = now.wall;
    if (old != nullptr)
        update_lease(header);
    else
        insert_lease(header);
    txn::after_write(txn::Write::kDurable);
    txn::touch(name);
    return previous;
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_set_capacity) {
    const std::string_view name = name_argument(fcinfo, 0);
    const int32 capacity = capacity_argument(fcinfo, 1);
    check_writable("set_capacity");
    check_prefix(name);
    const auto previous = set_capacity(name, capacity);
    fcinfo->isnull = !previous;
    return Int32GetDatum(previous.value_or(0));
}
