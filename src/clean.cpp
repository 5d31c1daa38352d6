// clean.cpp - see clean.hpp.
//
// A victim is read under a snapshot that stays registered until it is deleted (otherwise its line
// pointer may by then belong to another lock's row), its slot's tag is taken in Exclusive without
// waiting, and any outcome of the delete but success is ignored: somebody else was there first.
#include "clean.hpp"

#include <algorithm>

#include "catalog.hpp"
#include "fence.hpp"
#include "judge.hpp"
#include "settings.hpp"
#include "tag.hpp"
#include "txn.hpp"

extern "C" {
#include "common/pg_prng.h"
}

namespace distlock {
namespace {

constexpr int kOften = 8, kSeldom = 128;  // one in so many of the transactions that grant
constexpr int kMostVictims = 16;          // in one of them

struct Sweep {
    int64 older_than;
    int64 room;
    int64 seen = 0;
    int64 removed = 0;
};

// Free for long enough, by expiry or release, with every delay of its own over too.  In a slot >= 1
// the row may be what makes an older token stale: it stays while the fence would accept that one.
bool forgettable(const Lease &lease, int64 older_than) {
    const Instant now = clock_now();
    const int64 long_enough = lease.slot == 0 ? older_than : std::max(older_than, tolerated_us());
    return busy_for(lease, now) <= 0 && over_for(lease, now) > long_enough;
}

// A semaphore's header keeps the capacity for as long as there are permits, and a shared grant
// tells that the exclusive one before it is stale, whatever that one's own clock says.
bool needed(const Lease &lease, std::string_view name) {
    if (lease.slot == 0 && lease.mode != Mode::kPermit) return false;
    const std::span<Lease> rows = read_lock(name);
    if (lease.slot == 0) return rows.size() > 1;
    const Lease *exclusive = row_of_slot(rows, 0);
    return exclusive != nullptr && !exclusive->released && exclusive->token < lease.token;
}

void remove_row(Lease &lease, void *context) {
    auto &sweep = *static_cast<Sweep *>(context);
    sweep.seen++;
    if (sweep.room <= 0 || !forgettable(lease, sweep.older_than)) return;
    const std::string_view name = name_of(lease);
    if (!lock_now(slot_tag(name, lease.slot), ExclusiveLock)) return;
    if (needed(lease, name)) {
        unlock(slot_tag(name, lease.slot), ExclusiveLock);
        return;
    }
    if (!delete_lease(lease)) {
        unlock(slot_tag(name, lease.slot), ExclusiveLock);
        return;
    }
    txn::touch(name);  // the tag stays to the end: whoever waits for it is woken then
    sweep.room--;
    sweep.removed++;
}

BlockNumber any_block(BlockNumber blocks) {
    return static_cast<BlockNumber>(pg_prng_uint64_range(&pg_global_prng_state, 0, blocks - 1));
}

}  // namespace

void clean_some() {
    static constinit uint64 one_in = kOften;
    if (pg_prng_uint64_range(&pg_global_prng_state, 1, one_in) != 1) return;
    if (!catalog::installed()) return;  // dropped in this very transaction
    Sweep sweep{int64{settings::retention()} * 1000, std::min(kMostVictims, txn::room())};
    each_lease({.share = any_block, .lock = RowExclusiveLock}, remove_row, &sweep);
    // Where all rows are in use, less is to be expected; an empty block says nothing of the others.
    if (sweep.removed > 0)
        one_in = kOften;
    else if (sweep.seen > 0)
        one_in = std::min<uint64>(one_in * 2, kSeldom);
}

int64 prune(int64 older_than) {
    Sweep sweep{older_than, txn::room()};
    each_lease({.lock = RowExclusiveLock}, remove_row, &sweep);
    CommandCounterIncrement();
    return sweep.removed;
}

}  // namespace distlock
