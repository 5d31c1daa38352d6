// guard.hpp - what a fence trigger was created with, parsed once and kept per trigger.
#pragma once
#include "template.hpp"

extern "C" {
#include "commands/trigger.h"
}

namespace distlock {

enum class FenceMode { kLive, kLiveStrict, kHighWater, kRow };

// The mode of that name, or an error (22023).
FenceMode parse_fence_mode(const char *text);

struct Guard {
    Oid trigger;  // hash key
    Oid relation;
    bool valid;  // false while it is being filled, and once the table has changed
    MemoryContext context;
    Template lock;
    FenceMode mode;
    AttrNumber token_column;          // 0 = none
    StringInfoData name, other_name;  // rendered lock names

    // The last check that passed: still good while checks::generation() stands at `generation`.
    uint64 generation;
    int64 token;
    std::string_view checked;
};

// The trigger's guard; error (22023) when its arguments do not fit its table (any more).
Guard *find_guard(const Trigger *trigger, Relation table);

// What is wrong with a trigger's arguments as the table is now; null = nothing.
const char *find_fault(Oid table, int count, char *const *arguments);

// Error unless the column can carry tokens.
void check_token_column(Relation table, AttrNumber column);

// Registers the invalidation callback; once, from _PG_init.
void watch_tables();

}  // namespace distlock
