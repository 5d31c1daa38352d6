// checker.cpp - see checker.hpp.
#include "checker.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace torture {
namespace {

// A grant, and from when to when it was live beyond doubt: from its answer until its lease, counted
// from the request, was over or its release was asked for.
struct Grant {
    Event event;
    std::int64_t live_from, live_to;
};

std::string describe(const Event &a, const Event &b) { return to_line(a) + " / " + to_line(b); }

std::vector<Grant> grants_of(const std::vector<Event> &events) {
    std::vector<Grant> grants;
    std::map<std::int64_t, std::vector<std::size_t>> by_token;
    for (const Event &e : events) {
        if (e.kind != Kind::kGrant) continue;
        by_token[e.token].push_back(grants.size());
        grants.push_back({e, e.ended, e.begun + e.ttl});
    }
    for (const Event &e : events) {
        if (e.kind != Kind::kRenew && e.kind != Kind::kRelease) continue;
        for (const std::size_t i : by_token[e.token]) {
            std::int64_t &end = grants[i].live_to;
            end = e.kind == Kind::kRenew ? std::max(end, e.begun + e.ttl) : std::min(end, e.begun);
        }
    }
    return grants;
}

void check_tokens(std::vector<Grant> grants, Verdict &verdict) {
    std::ranges::sort(grants, {}, [](const Grant &g) { return g.event.token; });
    for (std::size_t i = 1; i < grants.size(); i++)
        if (grants[i].event.token == grants[i - 1].event.token)
            verdict.duplicate_tokens.push_back(describe(grants[i - 1].event, grants[i].event));

    // In the order of the answers: the highest token answered before a request was sent.
    std::vector<const Grant *> asked, answered;
    for (const Grant &g : grants) asked.push_back(&g), answered.push_back(&g);
    std::ranges::sort(asked, {}, [](const Grant *g) { return g->event.begun; });
    std::ranges::sort(answered, {}, [](const Grant *g) { return g->event.ended; });
    const Grant *highest = nullptr;
    std::size_t next = 0;
    for (const Grant *g : asked) {
        for (; next < answered.size() && answered[next]->event.ended < g->event.begun; next++)
            if (highest == nullptr || answered[next]->event.token > highest->event.token)
                highest = answered[next];
        if (highest != nullptr && g->event.token < highest->event.token)
            verdict.falling_tokens.push_back(describe(highest->event, g->event));
    }
}

void check_exclusion(std::vector<Grant> grants, Verdict &verdict) {
    std::erase_if(grants, [](const Grant &g) { return g.live_to <= g.live_from; });
    std::ranges::sort(grants, {}, &Grant::live_from);
    const Grant *longest = nullptr;
    for (const Grant &g : grants) {
        if (longest != nullptr && g.live_from < longest->live_to)
            verdict.double_grants.push_back(describe(longest->event, g.event));
        if (longest == nullptr || g.live_to > longest->live_to) longest = &g;
    }
}

// No write may be acknowledged whose COMMIT was sent after a newer grant had been answered.
void check_fence(const std::vector<Event> &events, std::vector<Grant> grants, Verdict &verdict) {
    std::ranges::sort(grants, {}, [](const Grant &g) { return g.event.ended; });
    std::vector<const Event *> writes;
    for (const Event &e : events)
        if (e.kind == Kind::kWrite && e.outcome == "ok") writes.push_back(&e);
    std::ranges::sort(writes, {}, &Event::commit);
    const Grant *highest = nullptr;
    std::size_t next = 0;
    for (const Event *w : writes) {
        for (; next < grants.size() && grants[next].event.ended < w->commit; next++)
            if (highest == nullptr || grants[next].event.token > highest->event.token)
                highest = &grants[next];
        if (highest != nullptr && w->token < highest->event.token)
            verdict.stale_writes.push_back(describe(highest->event, *w));
    }
}

// The writes of one row, which counts up by one with each.
struct Row {
    std::vector<const Event *> acknowledged;
    std::set<std::int64_t> maybe;
    std::int64_t end = 0;
};

void check_row(Row &row, bool fenced, Verdict &verdict) {
    std::ranges::sort(row.acknowledged, {},
                      [](const Event *w) { return std::tuple(w->value, w->token); });
    std::set<std::int64_t> values;
    for (const Event *w : row.acknowledged) {
        if (w->value > row.end || !values.insert(w->value).second) verdict.lost++;
    }
    for (std::int64_t v = 1; v <= row.end; v++)
        if (!values.contains(v) && !row.maybe.contains(v))
            verdict.wrong_values.push_back("nobody wrote value " + std::to_string(v));
    for (std::size_t i = 1; fenced && i < row.acknowledged.size(); i++)
        if (row.acknowledged[i]->token < row.acknowledged[i - 1]->token)
            verdict.wrong_values.push_back(
                describe(*row.acknowledged[i - 1], *row.acknowledged[i]));
}

void count_write(const Event &e, Verdict &verdict) {
    if (e.outcome == "ok")
        verdict.acknowledged++, verdict.by_how[e.how]++;
    else if (e.outcome == "unknown")
        verdict.unknown++;
    else
        verdict.refused++, verdict.by_code[e.outcome]++;
}

}  // namespace

Verdict check(const std::vector<Event> &history, const std::string &groups, bool fenced) {
    Verdict verdict;
    std::map<std::string, std::vector<Event>> by_lock;
    std::map<std::pair<std::string, int>, Row> rows;
    for (const Event &e : history) {
        if (!e.lock.starts_with(groups)) continue;
        by_lock[e.lock].push_back(e);
        Row &row = rows[{group_of(e.lock), e.row}];
        if (e.kind == Kind::kFinal) row.end = e.value;
        if (e.kind != Kind::kWrite) continue;
        count_write(e, verdict);
        if (e.outcome == "ok") row.acknowledged.push_back(&e);
        if (e.outcome == "unknown") row.maybe.insert(e.value);
    }
    for (const auto &[lock, events] : by_lock) {
        const std::vector<Grant> grants = grants_of(events);
        verdict.grants += static_cast<long>(grants.size());
        check_tokens(grants, verdict);
        check_exclusion(grants, verdict);
        if (fenced) check_fence(events, grants, verdict);
    }
    for (auto &[key, row] : rows) check_row(row, fenced, verdict);
    return verdict;
}

}  // namespace torture
