// token.hpp - where fencing tokens come from.
//
// token = max(last + 1, microseconds since 2026-01-01 by the wall clock), taken on the page of
// distlock.token_seq under its exclusive content lock, by this file and nothing else.  The WAL
// logs a reservation ahead of the token and is flushed before the token leaves, so a crash or a
// failover that lost up to a minute of WAL needs no clock; a state that went back further (restore,
// older dump, resumed image) is covered by the clock.  A server that finds a state it has not
// written itself since it started begins a minute ahead of the clock, behind whatever another
// server that started from the same state can have handed out.
#pragma once
#include "pg.hpp"

namespace distlock {

// Tokens stay exactly representable in a double: JavaScript and JSON hold nothing larger.
inline constexpr int64 kTokenLimit = int64{1} << 53;

int64 next_token();

// Makes every later token larger than `floor`; returns the sequence's last value afterwards.
int64 advance_token(int64 floor);

// What a token taken now would be by the clock alone.
int64 clock_token();

}  // namespace distlock
