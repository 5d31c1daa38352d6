// views.cpp - the functions under the views: rows of locks, queues and waiters as of now, read past
// the transaction's snapshot and without predicate locks.  They work on a standby.
#include <algorithm>

#include "arguments.hpp"
#include "label.hpp"
#include "lease.hpp"
#include "wake.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/tuplestore.h"
}

namespace distlock {
namespace {

ReturnSetInfo *result_set(FunctionCallInfo fcinfo) {
    return reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
}

// One row being put together, column by column.
template <int kCount>
class RowBuilder {
public:
    void value(Datum v) { values_[next_++] = v; }
    void null() {
        nulls_[next_] = true;
        values_[next_++] = Datum{0};
    }
    void text(std::string_view s) { value(pg::text_datum(s)); }
    void put(FunctionCallInfo fcinfo) {
        ReturnSetInfo *set = result_set(fcinfo);
        tuplestore_putvalues(set->setResult, set->setDesc, values_, nulls_);
    }

private:
    Datum values_[kCount] = {};
    bool nulls_[kCount] = {};
    int next_ = 0;
};

std::string_view name_of(const Lease &lease) {
    return pg::from_datum<std::string_view>(PointerGetDatum(lease.name));
}

const char *state_name(State state) {
    switch (state) {
        case State::kHeld:
            return "held";
        case State::kExpired:
            return "expired";
        case State::kMinHold:
            return "min_hold";
        case State::kLockDelay:
            return "lock_delay";
        default:
            return "free";
    }
}

const char *mode_name(Mode mode) { return mode == Mode::kShared ? "shared" : "exclusive"; }

// The backends whose open transactions keep a grant of this slot waiting; null = none.
ArrayType *pinned_by(const Lease &lease) {
    int count = 0, pids = 0;
    VirtualTransactionId *holders =
        lock_holders(slot_tag(name_of(lease), lease.slot), ExclusiveLock, &count);
    auto *array = static_cast<Datum *>(palloc(sizeof(Datum) * static_cast<std::size_t>(count + 1)));
    for (int i = 0; i < count; i++) {
        const PGPROC *proc = compat::proc_of(holders[i]);
        if (proc != nullptr && proc->pid != 0) array[pids++] = Int32GetDatum(proc->pid);
    }
    return pids == 0 ? nullptr : construct_array(array, pids, INT4OID, 4, true, TYPALIGN_INT);
}

void put_lock(Lease &lease, void *context) {
    const Instant now = clock_now();
    const State state = state_of(lease, now);
    if (state == State::kFree) return;
    RowBuilder<17> row;
    row.text(name_of(lease));
    row.value(Int32GetDatum(lease.slot));
    row.value(Int64GetDatum(lease.token));
    row.text(state_name(state));
    row.text(mode_name(lease.mode));
    row.value(Int32GetDatum(lease.capacity));
    if (lease.owner != nullptr)
        row.value(PointerGetDatum(PG_DETOAST_DATUM(PointerGetDatum(lease.owner))));
    else
        row.null();
    const char *role = GetUserNameFromId(lease.role, true);
    if (role != nullptr)
        row.text(role);
    else
        row.null();
    if (lease.metadata != nullptr)
        row.value(PointerGetDatum(PG_DETOAST_DATUM(PointerGetDatum(lease.metadata))));
    else
        row.null();
    row.value(TimestampTzGetDatum(lease.acquired.wall));
    row.value(TimestampTzGetDatum(lease.renewed.wall));
    row.value(TimestampTzGetDatum(lease.expires.wall));
    row.value(Int64GetDatum(
        std::max<int64>(0, state == State::kHeld ? -over_for(lease, now) : busy_for(lease, now)) /
        1000));
    row.value(Int64GetDatum(lease.grants));
    row.value(Int64GetDatum(lease.takeovers));
    if (lease.session_pid != 0)
        row.value(Int32GetDatum(lease.session_pid));
    else
        row.null();
    const ArrayType *pins = pinned_by(lease);
    if (pins != nullptr)
        row.value(PointerGetDatum(pins));
    else
        row.null();
    row.put(static_cast<FunctionCallInfo>(context));
}

void put_queue(Lease &lease, void *context) {
    if (lease.slot != 0) return;
    const LOCKTAG turnstile = turnstile_tag(queue_of(name_of(lease)));
    const ArrayType *pins = pinned_by(lease);
    RowBuilder<4> row;
    row.text(name_of(lease));
    row.value(ObjectIdGetDatum(turnstile.locktag_field2));
    row.value(ObjectIdGetDatum(turnstile.locktag_field3));
    if (pins != nullptr)
        row.value(PointerGetDatum(pins));
    else
        row.null();
    row.put(static_cast<FunctionCallInfo>(context));
}

void put_waiter(const label::Label &label, void *context) {
    RowBuilder<4> row;
    row.value(Int32GetDatum(label.pid));
    row.text(mode_name(label.mode));
    if (label.owner.empty())
        row.null();
    else
        row.text(label.owner);
    row.value(TimestampTzGetDatum(label.since));
    row.put(static_cast<FunctionCallInfo>(context));
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_lock_rows) {
    InitMaterializedSRF(fcinfo, 0);
    each_lease({}, put_lock, fcinfo);
    return Datum{0};
}

DISTLOCK_FUNCTION(distlock_holder) {
    const std::string_view name = name_argument(fcinfo, 0);
    InitMaterializedSRF(fcinfo, 0);
    for (Lease &lease : read_lock(name)) put_lock(lease, fcinfo);
    return Datum{0};
}

DISTLOCK_FUNCTION(distlock_queue_rows) {
    InitMaterializedSRF(fcinfo, 0);
    each_lease({.pending = true}, put_queue, fcinfo);
    return Datum{0};
}

DISTLOCK_FUNCTION(distlock_waiter_rows) {
    InitMaterializedSRF(fcinfo, 0);
    label::each(put_waiter, fcinfo);
    return Datum{0};
}

// The arguments of a trigger, which the catalog keeps as a row of NUL-terminated strings.
DISTLOCK_FUNCTION(distlock_trigger_arguments) {
    if (fcinfo->args[0].isnull) {
        fcinfo->isnull = true;
        return Datum{0};
    }
    const auto bytes = pg::from_datum<std::string_view>(fcinfo->args[0].value);
    auto *array = static_cast<Datum *>(palloc(sizeof(Datum) * (bytes.size() + 1)));
    int count = 0;
    std::size_t start = 0;
    for (std::size_t at = 0; at < bytes.size(); at++) {
        if (bytes[at] != '\0') continue;
        array[count++] = pg::text_datum({bytes.data() + start, at - start});
        start = at + 1;
    }
    return PointerGetDatum(construct_array(array, count, TEXTOID, -1, false, TYPALIGN_INT));
}
