// history.hpp - what clients asked for and were answered: one line of text for each call.
//
// Times are microseconds of CLOCK_BOOTTIME, the same for all processes of one machine.  A lock is
// called GROUP:KEY; rows are counted per group.  Lines that begin with "#" are remarks.
#pragma once
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace torture {

enum class Kind { kGrant, kRenew, kRelease, kWrite, kFinal };

struct Event {
    Kind kind;
    int client = 0;
    std::string lock{};
    std::int64_t token = 0;
    std::int64_t ttl = 0;     // of kGrant, kRenew
    int row = 0;              // of kWrite, kFinal
    std::int64_t value = 0;   // written, or found at the end
    std::string outcome{};    // of kWrite: ok, unknown, or the SQLSTATE that refused it
    std::string how{};        // of kWrite: isolation level, connection, statement
    std::int64_t begun = 0;   // the request was sent
    std::int64_t commit = 0;  // of kWrite: COMMIT was sent
    std::int64_t ended = 0;   // the answer was there
};

std::int64_t now_us();

std::string group_of(const std::string &lock);

std::string to_line(const Event &event);
Event from_line(const std::string &line);

// One client's history, written as it happens.
class Recorder {
public:
    explicit Recorder(const std::string &path) : out_(path) {}
    void add(const Event &event) { out_ << to_line(event) << std::endl; }
    void remark(const std::string &text) { out_ << "# " << now_us() << ' ' << text << std::endl; }

private:
    std::ofstream out_;
};

std::vector<Event> read_history(std::istream &in);

}  // namespace torture
