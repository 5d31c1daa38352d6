// nemesis.hpp - faults, one after the other: stopped clients, ended, cancelled and killed backends.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "options.hpp"

namespace torture {

// Goes on until the time is over, then lets everyone run.  `clients` are children of ours; backends
// are those of our own role on the server that the run was given.  Returns how often it did what.
std::map<std::string, long> run_nemesis(const Options &options, Shared &shared,
                                        const std::vector<pid_t> &clients);

}  // namespace torture
