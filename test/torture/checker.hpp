// checker.hpp - judges a history: what was promised, and how many updates were lost.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "history.hpp"

namespace torture {

struct Verdict {
    long grants = 0;
    long acknowledged = 0;
    long refused = 0;
    long unknown = 0;
    long lost = 0;  // acknowledged writes whose value is not in the end result
    std::map<std::string, long> by_code;  // refusals by SQLSTATE
    std::map<std::string, long> by_how;   // acknowledged writes
    std::vector<std::string> duplicate_tokens;
    std::vector<std::string> falling_tokens;
    std::vector<std::string> double_grants;
    std::vector<std::string> stale_writes;
    std::vector<std::string> wrong_values;  // values that nobody wrote, or out of order
};

// Judges the events of the groups whose name begins so.  Stale writes are looked for only where
// writes are `fenced`.
Verdict check(const std::vector<Event> &history, const std::string &groups, bool fenced);

}  // namespace torture
