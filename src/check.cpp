// check.cpp - see check.hpp.
//
// A stack: what a subtransaction added lies on top.  The usual few are searched one by one; for
// many there is a table by hash on top of it.
#include "check.hpp"

#include "tag.hpp"

namespace distlock::checks {
namespace {

constexpr int kFew = 16;

struct Slot {
    uint64 hash;
    Check *top;  // the newest
};

constinit Check *newest = nullptr;
constinit int count = 0;
constinit HTAB *table = nullptr;  // once there are more than a few
constinit uint64 changes = 1;

Slot *slot_of(uint64 hash, HASHACTION action) {
    bool found = false;
    auto *slot = static_cast<Slot *>(hash_search(table, &hash, action, &found));
    if (slot != nullptr && !found) slot->top = nullptr;
    return slot;
}

void add_to_table(Check *check) {
    Slot *slot = slot_of(check->hash, HASH_ENTER);
    check->shadowed = slot->top;
    slot->top = check;
}

// From the bottom of the stack, so that the newest of a hash comes to lie on top.
void build_table() {
    table = pg::transaction_table<Slot>("distlock fence checks", 4 * kFew);
    auto **stack = static_cast<Check **>(palloc(count * sizeof(Check *)));
    int at = count;
    for (Check *check = newest; check != nullptr; check = check->below) stack[--at] = check;
    for (int i = 0; i < count; i++) add_to_table(stack[i]);
    pfree(stack);
}

uint64 hash_of(Realm realm, std::string_view name) {
    return lock_hash(name, static_cast<int64>(realm));
}

// Two names may share a hash.
Check *search(Realm realm, uint64 hash, std::string_view name) {
    const auto is_it = [&](const Check *check) {
        return check->hash == hash && check->realm == realm && check->name == name;
    };
    if (table == nullptr) {
        Check *check = newest;
        while (check != nullptr && !is_it(check)) check = check->below;
        return check;
    }
    const Slot *slot = slot_of(hash, HASH_FIND);
    Check *check = slot == nullptr ? nullptr : slot->top;
    while (check != nullptr && !is_it(check)) check = check->shadowed;
    return check;
}

void push(Realm realm, std::string_view name, int64 token, int64 expires_boot) {
    const uint64 hash = hash_of(realm, name);
    Check *standing = search(realm, hash, name);
    if (standing != nullptr) changes++;
    if (standing != nullptr && standing->owner == GetCurrentSubTransactionId()) {
        standing->token = token;
        standing->expires_boot = expires_boot;
        standing->command = GetCurrentCommandId(false);
        return;
    }
    char *copy = static_cast<char *>(pg::in_transaction(name.size() + 1));
    memcpy(copy, name.data(), name.size());
    auto *check = static_cast<Check *>(pg::in_transaction(sizeof(Check)));
    *check = {.realm = realm,
              .name = {copy, name.size()},
              .hash = hash,
              .token = token,
              .expires_boot = expires_boot,
              .command = GetCurrentCommandId(false),
              .owner = GetCurrentSubTransactionId(),
              .below = newest,
              .shadowed = nullptr};
    if (table == nullptr && count >= kFew) build_table();
    if (table != nullptr) add_to_table(check);
    newest = check;
    count++;
}

}  // namespace

Check *find(std::string_view name, Realm realm) {
    if (newest == nullptr) return nullptr;
    Check *check = search(realm, hash_of(realm, name), name);
    return check != nullptr && check->token != 0 ? check : nullptr;
}

void add(std::string_view name, int64 token, int64 expires_boot, Realm realm) {
    push(realm, name, token, expires_boot);
}

void drop(std::string_view name) {
    if (find(name) != nullptr) push(Realm::kLock, name, 0, 0);
}

uint64 generation() { return changes; }

void forget(SubTransactionId sub) {
    for (; newest != nullptr && newest->owner == sub; newest = newest->below) {
        if (table != nullptr) slot_of(newest->hash, HASH_FIND)->top = newest->shadowed;
        count--;
    }
    changes++;
}

void adopt(SubTransactionId sub, SubTransactionId parent) {
    for (Check *c = newest; c != nullptr && c->owner == sub; c = c->below) c->owner = parent;
}

void reset() {
    newest = nullptr;
    count = 0;
    table = nullptr;
    changes++;
}

}  // namespace distlock::checks
