// grant.hpp - making a grant, without any waiting.
//
// Locks, all in the space of tag.hpp, held to the end of the transaction once something is written:
//                                own slot                        slot 0 (= the name)
//   fence, holder in slot 0      RowExclusive                    (the same)
//   fence, holder in slot >= 1   RowShare                        -
//   renew, release               ShareUpdateExclusive            -
//   grant, exclusive             Exclusive                       (the same), and Exclusive on every
//                                                                slot >= 1 that has a row
//   grant, shared or permit      Exclusive, next slot if taken   Share
//   first permit of a name       Exclusive                       Exclusive: it fixes the capacity
//   downgrade                    Exclusive on the new slot       ShareUpdateExclusive
//   set_capacity                 Exclusive on those of expired   ShareRowExclusive
//                                shared grants
// So any number of fenced writers of one holder run together, a heartbeat on another connection
// gets through, and a grant waits for both.  Grants never queue on these tags, since renewals of a
// healthy holder would queue behind them: they take them at once or not at all.
//
// A permit's slot is at most the capacity, so there are never more of them than that.
// What is decided from a read without locks is only a refusal; a fresh read under the locks
// decides.
#pragma once
#include "judge.hpp"

namespace distlock {

// How often to look again when an open transaction, whose end nobody promises, is in the way.
inline constexpr int64 kRecheck = 1000000;

struct Attempt {
    int64 token;     // 0 = not granted
    int64 retry_in;  // microseconds until it is worth another look, unless woken; 0 = kRecheck
};

// One attempt, standing in the queue's turn (the turnstile is the caller's business).
Attempt try_grant(const Request &request, Sighting &sighting);

// One attempt beside the queue: nothing when somebody waits.  A failed one takes no lock at all.
Attempt try_once(const Request &request);

// Shared grants that ran out before something else took over are over for good: without this a
// late cleaning of newer rows could make an old token look current again.
void bury_expired_shared(std::string_view name, std::span<Lease> rows);

}  // namespace distlock
