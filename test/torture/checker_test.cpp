// checker_test.cpp - the checker on histories made by hand: it must be able to say no.
#include <iostream>
#include <sstream>

#include "checker.hpp"

using namespace torture;

namespace {

int failures = 0;

// What the checker finds, in one word each.
std::string found(const std::string &text) {
    std::istringstream in(text);
    const Verdict v = check(read_history(in), "f", true);
    std::ostringstream out;
    if (v.lost > 0) out << "lost=" << v.lost << ' ';
    if (!v.duplicate_tokens.empty()) out << "duplicate ";
    if (!v.falling_tokens.empty()) out << "falling ";
    if (!v.double_grants.empty()) out << "double ";
    if (!v.stale_writes.empty()) out << "stale ";
    if (!v.wrong_values.empty()) out << "values ";
    return out.str();
}

void expect(const std::string &what, const std::string &wanted, const std::string &history) {
    const std::string got = found(history);
    const bool ok = got == wanted;
    if (!ok) failures++;
    std::cout << (ok ? "ok" : "not ok") << " - checker: " << what;
    if (!ok) std::cout << " (found \"" << got << "\")";
    std::cout << '\n';
}

}  // namespace

// grant CLIENT LOCK TOKEN TTL BEGUN ENDED; release CLIENT LOCK TOKEN BEGUN ENDED;
// write CLIENT LOCK TOKEN ROW VALUE OUTCOME BEGUN COMMIT ENDED; final 0 LOCK ROW VALUE
int main() {
    expect("a right history", "", R"(
grant 1 f:1 10 100 0 5
write 1 f:1 10 1 1 ok 6 8 9
release 1 f:1 10 20 22
grant 2 f:1 11 100 21 25
write 2 f:1 11 1 2 ok 30 31 32
write 1 f:1 10 1 2 LK001 33 33 34
final 0 f:1 1 2)");
    expect("a lost update", "lost=1 ", R"(
grant 1 f:1 10 10 0 5
grant 2 f:1 11 100 20 25
write 2 f:1 11 1 1 ok 26 27 28
write 1 f:1 10 1 1 ok 20 21 24
final 0 f:1 1 1)");
    expect("an update that was undone", "lost=1 ", R"(
grant 1 f:1 10 100 0 5
write 1 f:1 10 1 1 ok 6 7 8
final 0 f:1 1 0)");
    expect("a value that nobody wrote", "values ", R"(
grant 1 f:1 10 100 0 5
write 1 f:1 10 1 1 ok 6 7 8
final 0 f:1 1 2)");
    expect("a write of unknown outcome that was made", "", R"(
grant 1 f:1 10 100 0 5
write 1 f:1 10 1 1 unknown 6 7 8
write 1 f:1 10 1 2 ok 9 10 11
final 0 f:1 1 2)");
    expect("a write of unknown outcome that was not made", "", R"(
grant 1 f:1 10 100 0 5
write 1 f:1 10 1 1 unknown 6 7 8
write 1 f:1 10 1 1 ok 9 10 11
final 0 f:1 1 1)");
    expect("a refused write that was made", "values ", R"(
grant 1 f:1 10 100 0 5
write 1 f:1 10 1 1 LK001 6 7 8
final 0 f:1 1 1)");
    expect("a token handed out twice", "duplicate ", R"(
grant 1 f:1 10 10 0 5
grant 2 f:1 10 10 20 25)");
    expect("one token for two locks is none of ours to judge", "", R"(
grant 1 f:1 10 10 0 5
grant 2 f:2 10 10 0 5)");
    expect("a token that goes back", "falling ", R"(
grant 1 f:1 11 10 0 5
grant 2 f:1 10 10 20 25)");
    expect("a token that goes back behind a third one", "falling ", R"(
grant 1 f:1 12 10 0 5
grant 2 f:1 13 10 20 25
grant 3 f:1 11 10 40 45)");
    expect("tokens of requests that overlap have no order", "", R"(
grant 1 f:1 11 1 0 30
grant 2 f:1 10 1 20 25)");
    expect("two live grants", "double ", R"(
grant 1 f:1 10 100 0 5
grant 2 f:1 11 100 20 25)");
    expect("two live grants, one of them renewed", "double ", R"(
grant 1 f:1 10 100 0 5
renew 1 f:1 10 100 90 95
grant 2 f:1 11 100 120 125)");
    expect("a short grant inside a long one", "double ", R"(
grant 1 f:1 10 1000 0 5
grant 2 f:1 11 10 20 25
grant 3 f:1 12 10 900 905)");
    expect("a grant after the end of the lease before", "", R"(
grant 1 f:1 10 100 0 5
grant 2 f:1 11 100 99 101)");
    expect("a grant after a release", "", R"(
grant 1 f:1 10 100 0 5
release 1 f:1 10 20 30
grant 2 f:1 11 100 19 25)");
    expect("a write under a superseded token, committed after the newer grant", "stale ", R"(
grant 1 f:1 10 10 0 5
grant 2 f:1 11 100 20 25
write 1 f:1 10 1 1 ok 15 30 35
final 0 f:1 1 1)");
    expect("a write under a superseded token, on its way with the newer grant", "", R"(
grant 1 f:1 10 10 0 5
grant 2 f:1 11 100 20 25
write 1 f:1 10 1 1 ok 15 24 35
final 0 f:1 1 1)");
    expect("a write under a superseded token, after a newer one's", "stale values ", R"(
grant 1 f:1 10 10 0 5
grant 2 f:1 11 100 20 25
write 2 f:1 11 1 1 ok 26 27 28
write 1 f:1 10 1 2 ok 30 31 35
final 0 f:1 1 2)");
    expect("a write under a superseded token of unknown outcome", "", R"(
grant 1 f:1 10 10 0 5
grant 2 f:1 11 100 20 25
write 1 f:1 10 1 1 unknown 15 30 35
final 0 f:1 1 1)");
    return failures == 0 ? 0 : 1;
}
