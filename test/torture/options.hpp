// options.hpp - what a run is given.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace torture {

inline constexpr int kRowCount = 16;      // rows, and locks, of the tables with a lock for each row
inline constexpr int kTableRowCount = 3;  // rows of the tables with one lock

struct Options {
    std::string direct;  // connection string of the server
    std::string pooled;  // the same through a pooler in transaction mode
    std::string folder;  // for histories
    int clients = 24;
    std::int64_t until = 0;  // now_us() at which clients stop
    long grants = 0;         // as many end the run earlier; 0 = no limit
    int crashes = 1;
    unsigned seed = 1;
};

// Shared by all processes of a run.
struct Shared {
    std::atomic<long> grants;
    std::atomic<bool> stop;
};

}  // namespace torture
