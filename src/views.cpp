// views.cpp - the functions under the views: rows of locks, queues and waiters as of now, read past
// the transaction's snapshot and without predicate locks.  They work on a standby.
#include <algorithm>

#include "arguments.hpp"
#include "guard.hpp"
#include "label.hpp"
#include "lease.hpp"
#include "resultset.hpp"
#include "wake.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/array.h"
}

namespace distlock {
namespace {

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

int64 remaining_ms(const Lease &lease, State state, const Instant &now) {
    if (state == State::kExpired) return 0;
    const int64 left = state == State::kHeld ? -over_for(lease, now) : busy_for(lease, now);
    return std::max<int64>(0, left) / 1000;
}

void put_lock(Lease &lease, void *context) {
    const Instant now = clock_now();
    State state = state_of(lease, now);
    if (state == State::kFree) return;
    if (state == State::kHeld && !lives(lease)) state = State::kExpired;  // its session is gone
    RowBuilder<17> row;
    row.text(name_of(lease));
    row.value(Int32GetDatum(lease.slot));
    row.value(Int64GetDatum(lease.token));
    row.text(state_name(state));
    row.text(mode_name(lease.mode));
    row.value(Int32GetDatum(lease.capacity));
    row.stored(lease.owner);
    const char *role = GetUserNameFromId(lease.role, true);
    row.value_or_null(role != nullptr, role != nullptr ? pg::text_datum(role) : Datum{0});
    row.stored(lease.metadata);
    row.value(TimestampTzGetDatum(lease.acquired.wall));
    row.value(TimestampTzGetDatum(lease.renewed.wall));
    row.value(TimestampTzGetDatum(lease.expires.wall));
    row.value(Int64GetDatum(remaining_ms(lease, state, now)));
    row.value(Int64GetDatum(lease.grants));
    row.value(Int64GetDatum(lease.takeovers));
    row.value_or_null(lease.session_pid != 0, Int32GetDatum(lease.session_pid));
    const ArrayType *pins = pinned_by(lease);
    row.value_or_null(pins != nullptr, PointerGetDatum(pins));
    row.put(static_cast<FunctionCallInfo>(context));
}

void put_queue(Lease &lease, void *context) {
    const LOCKTAG turnstile = turnstile_tag(queue_of(name_of(lease)));
    const ArrayType *pins = pinned_by(lease);
    RowBuilder<4> row;
    row.text(name_of(lease));
    row.value(ObjectIdGetDatum(turnstile.locktag_field2));
    row.value(ObjectIdGetDatum(turnstile.locktag_field3));
    row.value_or_null(pins != nullptr, PointerGetDatum(pins));
    row.put(static_cast<FunctionCallInfo>(context));
}

void put_waiter(const label::Label &label, void *context) {
    RowBuilder<4> row;
    row.value(Int32GetDatum(label.pid));
    row.text(mode_name(label.mode));
    row.value_or_null(!label.owner.empty(), pg::text_datum(label.owner));
    row.value(TimestampTzGetDatum(label.since));
    row.put(static_cast<FunctionCallInfo>(context));
}

std::span<char *> trigger_arguments(FunctionCallInfo fcinfo, int i) {
    const auto bytes = pg::arg<std::string_view>(fcinfo, i).value_or("");
    auto **arguments = static_cast<char **>(palloc(sizeof(char *) * (bytes.size() + 1)));
    std::size_t count = 0, start = 0;
    for (std::size_t at = 0; at < bytes.size(); at++) {
        if (bytes[at] != '\0') continue;
        // The function may be called with anything: only valid text may become text.
        (void)pg_verifymbstr(bytes.data() + start, static_cast<int>(at - start), false);
        arguments[count++] = pnstrdup(bytes.data() + start, at - start);
        start = at + 1;
    }
    return {arguments, count};
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

// The holder that stands for the name: the one exclusive grant that lives.
DISTLOCK_FUNCTION(distlock_leader) {
    const std::string_view name = name_argument(fcinfo, 0);
    InitMaterializedSRF(fcinfo, 0);
    const std::span<Lease> rows = read_lock(name);
    const Lease *lease = row_of_slot(rows, 0);
    if (lease == nullptr || !lives(*lease) || current_grant(rows, lease->token) == nullptr)
        return Datum{0};
    RowBuilder<5> row;
    row.value(Int64GetDatum(lease->token));
    row.stored(lease->owner);
    row.stored(lease->metadata);
    row.value(TimestampTzGetDatum(lease->acquired.wall));
    row.value(TimestampTzGetDatum(lease->expires.wall));
    row.put(fcinfo);
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
    const std::span<char *> arguments = trigger_arguments(fcinfo, 0);
    auto *array = static_cast<Datum *>(palloc(sizeof(Datum) * (arguments.size() + 1)));
    for (std::size_t i = 0; i < arguments.size(); i++) array[i] = pg::text_datum(arguments[i]);
    return PointerGetDatum(construct_array(array, static_cast<int>(arguments.size()), TEXTOID, -1,
                                           false, TYPALIGN_INT));
}

DISTLOCK_FUNCTION(distlock_trigger_fault) {
    const std::span<char *> arguments = trigger_arguments(fcinfo, 1);
    const char *fault = fcinfo->args[0].isnull
                            ? nullptr
                            : find_fault(DatumGetObjectId(fcinfo->args[0].value),
                                         static_cast<int>(arguments.size()), arguments.data());
    fcinfo->isnull = fault == nullptr;
    return fault == nullptr ? Datum{0} : pg::text_datum(fault);
}
