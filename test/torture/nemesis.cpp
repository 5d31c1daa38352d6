// nemesis.cpp - see nemesis.hpp.
#include "nemesis.hpp"

#include <signal.h>

#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "history.hpp"
#include "pg.hpp"

namespace torture {
namespace {

class Nemesis {
public:
    Nemesis(const Options &options, const std::vector<pid_t> &clients)
        : options_(options),
          clients_(clients),
          random_(options.seed),
          server_(options.direct + " user=postgres application_name=nemesis"),
          history_(options.folder + "/nemesis.history"),
          crash_every_((options.until - now_us()) / (options.crashes + 1)),
          next_crash_(now_us() + crash_every_) {}

    std::map<std::string, long> run(const Shared &shared) {
        while (now_us() + 1'000'000 < options_.until && !shared.stop) {
            sleep_ms(number(50, 300));
            if (!server_.alive()) continue;
            if (now_us() >= next_crash_ &&
                counts_["backend killed, server restarted"] < options_.crashes) {
                next_crash_ += crash_every_;
                kill_backend();
                continue;
            }
            const int fault = number(1, 10);
            if (fault <= 6)
                stop_client();
            else if (fault <= 8)
                signal_backend("pg_terminate_backend", "backend terminated");
            else
                signal_backend("pg_cancel_backend", "statement cancelled");
        }
        return counts_;
    }

private:
    int number(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }

    static void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

    void count(const std::string &what, long pid) {
        counts_[what]++;
        history_.remark(what + " " + std::to_string(pid));
    }

    void stop_client() {
        const pid_t client =
            clients_[static_cast<std::size_t>(number(0, static_cast<int>(clients_.size()) - 1))];
        kill(client, SIGSTOP);
        count("client stopped", client);
        sleep_ms(number(50, 900));
        kill(client, SIGCONT);
        history_.remark("client continued " + std::to_string(client));
    }

    // A backend that works for a client now; 0 when there is none.
    long backend() {
        const Result found = server_.run(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'torture' AND "
            "(state <> 'idle' OR random() < 0.1) ORDER BY random() LIMIT 1");
        return found.ok() && found.rows() == 1 ? found.number(0) : 0;
    }

    void signal_backend(const std::string &function, const std::string &what) {
        const long pid = backend();
        if (pid == 0) return;
        count(what, pid);
        (void)server_.run("SELECT pg_catalog." + function + "($1)", {std::to_string(pid)});
    }

    // The whole server restarts after that.
    void kill_backend() {
        const long pid = backend();
        std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
        std::stringstream title;
        title << file.rdbuf();
        if (pid <= 1 || title.str().find("postgres: torture") == std::string::npos) return;
        kill(static_cast<pid_t>(pid), SIGKILL);
        count("backend killed, server restarted", pid);
    }

    const Options &options_;
    const std::vector<pid_t> &clients_;
    std::mt19937 random_;
    Connection server_;
    Recorder history_;
    std::int64_t crash_every_, next_crash_;
    std::map<std::string, long> counts_;
};

}  // namespace

std::map<std::string, long> run_nemesis(const Options &options, Shared &shared,
                                        const std::vector<pid_t> &clients) {
    return Nemesis(options, clients).run(shared);
}

}  // namespace torture
