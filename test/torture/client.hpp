// client.hpp - a holder: acquires, reads, pauses, writes what it read plus one, releases.
#pragma once
#include "options.hpp"

namespace torture {

// Works until the time is over; never returns with a connection open.
void run_client(const Options &options, Shared &shared, int number);

}  // namespace torture
