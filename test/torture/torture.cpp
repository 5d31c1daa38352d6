// torture.cpp - one run: clients as processes of their own, the nemesis, then the checker.
//
//   torture DIRECT POOLED FOLDER SECONDS GRANTS CRASHES CLIENTS SEED
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <new>
#include <thread>

#include "checker.hpp"
#include "client.hpp"
#include "nemesis.hpp"
#include "pg.hpp"

using namespace torture;

namespace {

int failures = 0;

void result(bool ok, const std::string &what, const std::vector<std::string> &examples = {}) {
    if (!ok) failures++;
    std::cout << (ok ? "ok" : "not ok") << " - torture: " << what << '\n';
    for (std::size_t i = 0; i < examples.size() && i < 5; i++)
        std::cout << "#   " << examples[i] << '\n';
}

Shared &share() {
    void *memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return *new (memory) Shared{};
}

std::vector<pid_t> start_clients(const Options &options, Shared &shared) {
    std::vector<pid_t> clients;
    for (int i = 0; i < options.clients; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            run_client(options, shared, i);
            _exit(0);
        }
        clients.push_back(pid);
    }
    return clients;
}

// Ends the run when there have been enough grants.
void watch_grants(const Options &options, Shared &shared) {
    while (now_us() < options.until && !shared.stop) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        if (options.grants > 0 && shared.grants >= options.grants) shared.stop = true;
    }
}

// All end by themselves; who does not within half a minute is a failure, and is ended.
void await_clients(const std::vector<pid_t> &clients, std::int64_t deadline) {
    bool all_well = true;
    for (const pid_t pid : clients) {
        int status = 0;
        while (waitpid(pid, &status, WNOHANG) == 0) {
            if (now_us() > deadline) kill(pid, SIGKILL);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        all_well = all_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    result(all_well, "no call hung, no client failed");
}

std::vector<Event> collect(const Options &options) {
    std::vector<Event> events;
    for (int i = 0; i < options.clients; i++) {
        std::ifstream file(options.folder + "/client-" + std::to_string(i) + ".history");
        const std::vector<Event> part = read_history(file);
        events.insert(events.end(), part.begin(), part.end());
    }
    Connection server(options.direct + " user=postgres");
    while (!server.alive()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Recorder end(options.folder + "/end.history");
    for (const std::string group : {"fenced", "fenced_table", "plain", "plain_table"}) {
        const Result rows = server.run("SELECT id, v FROM " + group);
        for (int i = 0; i < rows.rows(); i++) {
            const Event event{.kind = Kind::kFinal,
                              .lock = group + ":end",
                              .row = static_cast<int>(rows.number(i, 0)),
                              .value = rows.number(i, 1)};
            end.add(event);
            events.push_back(event);
        }
    }
    return events;
}

std::string summary(const Verdict &v) {
    std::string text = std::to_string(v.grants) + " grants, " + std::to_string(v.acknowledged) +
                       " writes acknowledged, " + std::to_string(v.refused) + " refused (";
    for (const auto &[code, n] : v.by_code) text += code + " " + std::to_string(n) + ", ";
    return text + std::to_string(v.unknown) + " unknown)";
}

void judge(const std::vector<Event> &history) {
    const Verdict fenced = check(history, "fenced", true);
    const Verdict plain = check(history, "plain", false);
    std::cout << "# with the fence: " << summary(fenced) << '\n';
    std::cout << "# without: " << summary(plain) << '\n';
    result(plain.lost > 0, "without the fence " + std::to_string(plain.lost) + " updates of " +
                               std::to_string(plain.acknowledged) + " are lost");
    result(fenced.lost == 0, "with it " + std::to_string(fenced.lost) + " updates of " +
                                 std::to_string(fenced.acknowledged) + " are lost");
    result(fenced.wrong_values.empty(), "every value was written once, under rising tokens",
           fenced.wrong_values);
    result(fenced.stale_writes.empty(), "no write under a superseded token was acknowledged",
           fenced.stale_writes);
    const auto stale = fenced.by_code.find("LK001");
    result(stale != fenced.by_code.end(), "stale writes were tried, and refused");
    for (const Verdict *v : {&fenced, &plain}) {
        const std::string where = v == &fenced ? " (fenced)" : " (plain)";
        result(v->duplicate_tokens.empty(), "no token was handed out twice" + where,
               v->duplicate_tokens);
        result(v->falling_tokens.empty(), "no token went back" + where, v->falling_tokens);
        result(v->double_grants.empty(), "no two grants were live at once" + where,
               v->double_grants);
    }
    result(fenced.by_how.size() == 36,
           "writes were acknowledged in " + std::to_string(fenced.by_how.size()) +
               " of 36 ways: isolation level, connection, statement, carrier of the token");
}

Options parse(char **argument) {
    Options options;
    options.direct = argument[1];
    options.pooled = argument[2];
    options.folder = argument[3];
    options.until = now_us() + std::stoll(argument[4]) * 1'000'000;
    options.grants = std::stol(argument[5]);
    options.crashes = std::stoi(argument[6]);
    options.clients = std::stoi(argument[7]);
    options.seed = static_cast<unsigned>(std::stoul(argument[8]));
    return options;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 9) {
        std::cerr << "usage: torture DIRECT POOLED FOLDER SECONDS GRANTS CRASHES CLIENTS SEED\n";
        return 64;
    }
    const Options options = parse(argv);
    Shared &shared = share();
    const std::vector<pid_t> clients = start_clients(options, shared);
    std::thread watcher(watch_grants, std::cref(options), std::ref(shared));
    const auto faults = run_nemesis(options, shared, clients);
    watcher.join();
    await_clients(clients, now_us() + 30'000'000);
    for (const auto &[what, n] : faults) std::cout << "# " << what << ": " << n << " times\n";
    judge(collect(options));
    return failures == 0 ? 0 : 1;
}
