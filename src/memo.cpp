// memo.cpp - see memo.hpp.
#include "memo.hpp"

#include "judge.hpp"
#include "renew.hpp"
#include "tag.hpp"

namespace distlock {
namespace {

struct Entry {
    int64 token;
    Place place;
};

// A later grant takes the entry of an earlier one, which is then looked up the usual way.
constexpr std::size_t kEntries = 64;
constinit Entry entries[kEntries]{};

Entry &entry_of(int64 token) { return entries[static_cast<uint64>(token) % kEntries]; }

// By the clock of this boot, which never goes back: by another one a shared grant may have been
// made while the lease looked over.
bool surely_lives(const Lease &lease) {
    return is_of_boot(lease.renewed, lease.boot_id, clock_now()) && lives(lease);
}

// The place may hold another row by now, and raise_token gives two locks the same token.
bool is_grant(const Lease &lease, std::string_view name, int64 token) {
    return name_of(lease) == name && lease.token == token && lease.mode == Mode::kExclusive &&
           surely_lives(lease);
}

}  // namespace

void remember(const Lease &grant, const Place &place) {
    if (grant.mode == Mode::kExclusive && !grant.released)
        entry_of(grant.token) = {grant.token, place};
}

Lease *lock_remembered(std::string_view name, int64 token, LOCKMODE mode, const char *verb) {
    const Entry &entry = entry_of(token);
    if (entry.token != token || !BufferIsValid(entry.place.buffer)) return nullptr;
    // Who renews or releases writes next: one lock on the table does for both.
    const LOCKMODE table = mode == ShareUpdateExclusiveLock ? RowExclusiveLock : AccessShareLock;
    Moment read;
    const auto find = [&]() -> Lease * {
        Lease *lease = read_lease_at(entry.place, table, &read);
        return lease != nullptr && is_grant(*lease, name, token) ? lease : nullptr;
    };
    Lease *lease = find();
    if (lease == nullptr) return nullptr;
    if (verb != nullptr) check_holder(name, *lease, verb);
    const LOCKTAG tag = slot_tag(name, 0);
    if (!lock_now(tag, mode)) return nullptr;
    if (!is_unchanged_since(read)) lease = find();
    if (lease != nullptr && surely_lives(*lease)) return lease;
    unlock(tag, mode);
    return nullptr;
}

}  // namespace distlock
