// generator.hpp - what a client does next, by chance.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "options.hpp"

namespace torture {

enum class Shape {
    kRow,    // one row, its own lock
    kRows,   // some rows in one statement, a lock for each
    kTable,  // all rows of a table with one lock in one statement
};

enum class Carrier { kColumn, kFence };

struct Turn {
    Shape shape;
    bool fenced;
    std::vector<int> rows;
    std::int64_t ttl_us;   // 50 to 500 ms
    std::int64_t wait_us;  // for the lock
    int writes;            // read-modify-writes under one grant
    bool release;          // else the lease is left to run out
};

struct Step {
    std::string isolation;
    Carrier carrier;
    bool read_inside;  // the transaction that writes also reads
    std::int64_t pause_us;
    bool renew;
};

class Generator {
public:
    explicit Generator(unsigned seed) : random_(seed) {}

    Turn turn() {
        Turn t{};
        const int kind = number(0, 9);
        t.shape = kind < 6 ? Shape::kRow : kind < 8 ? Shape::kRows : Shape::kTable;
        t.fenced = chance(50);
        if (t.shape == Shape::kRow) t.rows = {number(1, kRowCount)};
        if (t.shape == Shape::kRows)
            while (t.rows.size() < 2) {
                t.rows.clear();
                for (int row = 1; row <= kRowCount; row++)
                    if (chance(30)) t.rows.push_back(row);
            }
        if (t.shape == Shape::kTable)
            for (int row = 1; row <= kTableRowCount; row++) t.rows.push_back(row);
        t.ttl_us = number(50'000, 500'000);
        t.wait_us = chance(30) ? 0 : number(1000, 300'000);
        t.writes = number(1, 2);
        t.release = chance(90);
        return t;
    }

    // Most pauses are short; some are as long as the lease.
    Step step(const Turn &turn) {
        static const char *const kLevels[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};
        Step s{};
        s.isolation = kLevels[number(0, 2)];
        s.carrier = chance(50) ? Carrier::kColumn : Carrier::kFence;
        s.read_inside = chance(50);
        s.pause_us =
            chance(10) ? number(0, static_cast<int>(turn.ttl_us * 3 / 2)) : number(0, 5000);
        s.renew = chance(20);
        return s;
    }

    bool chance(int percent) { return number(1, 100) <= percent; }
    int number(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }

private:
    std::mt19937 random_;
};

}  // namespace torture
