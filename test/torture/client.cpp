// client.cpp - see client.hpp.
#include "client.hpp"

#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "generator.hpp"
#include "history.hpp"
#include "pg.hpp"

namespace torture {
namespace {

using std::to_string;

void sleep_us(std::int64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

std::string interval(std::int64_t us) { return to_string(us) + " us"; }

template <typename Values>
std::string array(const Values &values) {
    std::ostringstream out;
    out << '{';
    for (const auto &v : values) out << (out.tellp() > 1 ? "," : "") << v;
    out << '}';
    return out.str();
}

// COMMIT was sent and the answer does not say what became of it.
bool says_nothing(const std::string &sqlstate) {
    return sqlstate.empty() || sqlstate.starts_with("08") || sqlstate.starts_with("57P");
}

class Client {
public:
    Client(const Options &options, Shared &shared, int number)
        : options_(options),
          shared_(shared),
          number_(number),
          pooled_(number % 2 == 1),
          generator_(options.seed + static_cast<unsigned>(number)),
          connection_(pooled_ ? options.pooled : options.direct),
          history_(options.folder + "/client-" + to_string(number) + ".history") {}

    void run() {
        while (now_us() < options_.until && !shared_.stop) {
            if (!connection_.alive()) {
                sleep_us(20'000);  // the server is coming up again
                continue;
            }
            turn_ = generator_.turn();
            work();
        }
    }

private:
    std::string group() const {
        return std::string(turn_.fenced ? "fenced" : "plain") +
               (turn_.shape == Shape::kTable ? "_table" : "");
    }
    std::string lock_of(int row) const {
        return group() + ":" + (turn_.shape == Shape::kTable ? "all" : to_string(row));
    }
    std::vector<std::string> locks() const {
        if (turn_.shape == Shape::kTable) return {lock_of(0)};
        std::vector<std::string> names;
        for (const int row : turn_.rows) names.push_back(lock_of(row));
        return names;
    }
    std::int64_t token_of(int row) const { return tokens_.at(lock_of(row)); }

    void work() {
        if (!acquire()) return;
        for (int i = 0; i < turn_.writes && connection_.alive(); i++) {
            const Step step = generator_.step(turn_);
            if (step.renew) renew();
            write(step);
            if (connection_.in_transaction()) (void)connection_.run("ROLLBACK");
        }
        if (turn_.release && connection_.alive()) release();
    }

    bool acquire() {
        tokens_.clear();
        const std::int64_t begun = now_us();
        const std::string ttl = interval(turn_.ttl_us), wait = interval(turn_.wait_us);
        const Result got =
            turn_.shape == Shape::kRows
                ? connection_.run("SELECT name, token FROM distlock.acquire_all($1, $2, $3)",
                                  {array(locks()), ttl, wait})
                : connection_.run("SELECT $1, distlock.try_acquire($1, $2, $3)",
                                  {locks()[0], ttl, wait});
        const std::int64_t ended = now_us();
        if (!got.ok()) {
            if (got.sqlstate() != "55P03") remark("acquire", got);
            return false;
        }
        if (got.rows() == 0 || got.null(0, 1)) return false;
        for (int i = 0; i < got.rows(); i++) {
            const std::string lock = got.text(i, 0);
            tokens_[lock] = got.number(i, 1);
            shared_.grants++;
            history_.add({.kind = Kind::kGrant,
                          .client = number_,
                          .lock = lock,
                          .token = tokens_[lock],
                          .ttl = turn_.ttl_us,
                          .begun = begun,
                          .ended = ended});
        }
        return true;
    }

    void renew() {
        for (const auto &[lock, token] : tokens_) {
            const std::int64_t begun = now_us();
            const Result got =
                connection_.run("SELECT distlock.renew($1, $2)", {lock, to_string(token)});
            if (!got.ok()) return remark("renew", got);
            if (got.null(0)) continue;
            history_.add({.kind = Kind::kRenew,
                          .client = number_,
                          .lock = lock,
                          .token = token,
                          .ttl = turn_.ttl_us,
                          .begun = begun,
                          .ended = now_us()});
        }
    }

    void release() {
        for (const auto &[lock, token] : tokens_) {
            Event event{.kind = Kind::kRelease,
                        .client = number_,
                        .lock = lock,
                        .token = token,
                        .begun = now_us()};
            const Result got =
                connection_.run("SELECT distlock.release($1, $2)", {lock, to_string(token)});
            if (!got.ok()) remark("release", got);
            event.ended = now_us();
            history_.add(event);
        }
    }

    // What the rows hold, by row; none on an error.
    std::optional<std::map<int, std::int64_t>> read() {
        const Result got = connection_.run("SELECT id, v FROM " + group() + " WHERE id = ANY ($1)",
                                           {array(turn_.rows)});
        if (!got.ok()) return std::nullopt;
        std::map<int, std::int64_t> values;
        for (int i = 0; i < got.rows(); i++)
            values[static_cast<int>(got.number(i, 0))] = got.number(i, 1);
        return values;
    }

    void write(const Step &step) {
        const std::string begin = "BEGIN ISOLATION LEVEL " + step.isolation;
        if (step.read_inside && !connection_.run(begin).ok()) return;
        const auto values = read();
        if (!values) return;
        sleep_us(step.pause_us);
        const std::int64_t begun = now_us();
        if (!step.read_inside && !connection_.run(begin).ok()) return;
        std::string outcome = update(step, *values);
        const std::int64_t commit = now_us();
        if (outcome.empty()) {
            const Result committed = connection_.run("COMMIT");
            if (committed.ok())
                outcome = committed.command() == "COMMIT" ? "ok" : "rolled_back";
            else
                outcome = says_nothing(committed.sqlstate()) ? "unknown" : committed.sqlstate();
        }
        record(step, *values, outcome, begun, commit);
    }

    void record(const Step &step, const std::map<int, std::int64_t> &values,
                const std::string &outcome, std::int64_t begun, std::int64_t commit) {
        std::string how = step.isolation + (pooled_ ? "/pooled" : "/direct") +
                          (turn_.shape == Shape::kRow    ? "/row"
                           : turn_.shape == Shape::kRows ? "/rows"
                                                         : "/table") +
                          (step.carrier == Carrier::kColumn ? "/column" : "/fence()");
        for (char &c : how)
            if (c == ' ') c = '_';
        const std::int64_t ended = now_us();
        for (const auto &[row, value] : values)
            history_.add({.kind = Kind::kWrite,
                          .client = number_,
                          .lock = lock_of(row),
                          .token = token_of(row),
                          .row = row,
                          .value = value + 1,
                          .outcome = outcome,
                          .how = how,
                          .begun = begun,
                          .commit = commit,
                          .ended = ended});
    }

    // Writes each value plus one; empty, or the SQLSTATE that refused it.
    std::string update(const Step &step, const std::map<int, std::int64_t> &values) {
        const bool by_column = turn_.fenced && step.carrier == Carrier::kColumn;
        if (turn_.fenced && !by_column) {
            for (const auto &[lock, token] : tokens_) {
                const Result fenced =
                    connection_.run("SELECT distlock.fence($1, $2)", {lock, to_string(token)});
                if (!fenced.ok()) return refusal(fenced);
            }
        }
        std::vector<std::int64_t> ids, news, tokens;
        for (const auto &[row, value] : values)
            ids.push_back(row), news.push_back(value + 1), tokens.push_back(token_of(row));
        std::vector<std::string> arguments{array(ids), array(news)};
        if (by_column) arguments.push_back(array(tokens));
        const Result updated = connection_.run(
            "UPDATE " + group() + " AS t SET v = x.v" + (by_column ? ", fence = x.token" : "") +
                " FROM unnest($1::int[], $2::bigint[]" + (by_column ? ", $3::bigint[]" : "") +
                ") AS x (id, v" + (by_column ? ", token" : "") + ") WHERE t.id = x.id",
            arguments);
        return updated.ok() ? "" : refusal(updated);
    }

    std::string refusal(const Result &result) {
        return result.sqlstate().empty() ? "disconnected" : result.sqlstate();
    }

    void remark(const std::string &what, const Result &result) {
        history_.remark(what + " " + refusal(result) + " " +
                        result.message().substr(0, result.message().find('\n')));
    }

    const Options &options_;
    Shared &shared_;
    int number_;
    bool pooled_;
    Generator generator_;
    Connection connection_;
    Recorder history_;
    Turn turn_{};
    std::map<std::string, std::int64_t> tokens_;
};

}  // namespace

void run_client(const Options &options, Shared &shared, int number) {
    Client(options, shared, number).run();
}

}  // namespace torture
