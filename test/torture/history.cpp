// history.cpp - see history.hpp.
#include "history.hpp"

#include <array>
#include <ctime>
#include <sstream>
#include <stdexcept>

namespace torture {
namespace {

constexpr std::array kNames{"grant", "renew", "release", "write", "final"};

Kind kind_named(const std::string &name) {
    for (std::size_t i = 0; i < kNames.size(); i++)
        if (name == kNames[i]) return static_cast<Kind>(i);
    throw std::runtime_error("no such event: " + name);
}

}  // namespace

std::int64_t now_us() {
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

std::string group_of(const std::string &lock) { return lock.substr(0, lock.find(':')); }

std::string to_line(const Event &e) {
    std::ostringstream line;
    line << kNames[static_cast<std::size_t>(e.kind)] << ' ' << e.client << ' ' << e.lock << ' ';
    switch (e.kind) {
        case Kind::kGrant:
        case Kind::kRenew:
            line << e.token << ' ' << e.ttl << ' ' << e.begun << ' ' << e.ended;
            break;
        case Kind::kRelease:
            line << e.token << ' ' << e.begun << ' ' << e.ended;
            break;
        case Kind::kWrite:
            line << e.token << ' ' << e.row << ' ' << e.value << ' ' << e.outcome << ' ' << e.begun
                 << ' ' << e.commit << ' ' << e.ended << ' ' << e.how;
            break;
        case Kind::kFinal:
            line << e.row << ' ' << e.value;
            break;
    }
    return line.str();
}

Event from_line(const std::string &text) {
    std::istringstream line(text);
    std::string kind;
    Event e{};
    line >> kind >> e.client >> e.lock;
    e.kind = kind_named(kind);
    switch (e.kind) {
        case Kind::kGrant:
        case Kind::kRenew:
            line >> e.token >> e.ttl >> e.begun >> e.ended;
            break;
        case Kind::kRelease:
            line >> e.token >> e.begun >> e.ended;
            break;
        case Kind::kWrite:
            line >> e.token >> e.row >> e.value >> e.outcome >> e.begun >> e.commit >> e.ended;
            if (!line.fail() && !(line >> e.how)) line.clear(std::ios::eofbit);
            break;
        case Kind::kFinal:
            line >> e.row >> e.value;
            break;
    }
    if (line.fail()) throw std::runtime_error("incomplete event: " + text);
    return e;
}

std::vector<Event> read_history(std::istream &in) {
    std::vector<Event> events;
    for (std::string line; std::getline(in, line);)
        if (!line.empty() && line[0] != '#') events.push_back(from_line(line));
    return events;
}

}  // namespace torture
