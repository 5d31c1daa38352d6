// pg.hpp - libpq with owners: connections and results that close themselves.
#pragma once
#include <libpq-fe.h>

#include <memory>
#include <string>
#include <vector>

namespace torture {

struct Closer {
    void operator()(PGconn *c) const { PQfinish(c); }
    void operator()(PGresult *r) const { PQclear(r); }
};

class Result {
public:
    explicit Result(PGresult *r) : result_(r) {}
    bool ok() const {
        const ExecStatusType status = PQresultStatus(result_.get());
        return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    }
    // Empty when there was no answer from the server.
    std::string sqlstate() const {
        const char *state = PQresultErrorField(result_.get(), PG_DIAG_SQLSTATE);
        return state == nullptr ? "" : state;
    }
    std::string message() const { return PQresultErrorMessage(result_.get()); }
    std::string command() const { return PQcmdStatus(result_.get()); }
    int rows() const { return PQntuples(result_.get()); }
    bool null(int row, int column = 0) const {
        return PQgetisnull(result_.get(), row, column) != 0;
    }
    std::string text(int row, int column = 0) const {
        return PQgetvalue(result_.get(), row, column);
    }
    long long number(int row, int column = 0) const { return std::stoll(text(row, column)); }

private:
    std::unique_ptr<PGresult, Closer> result_;
};

// Lost connections are made again by the next call of alive().
class Connection {
public:
    explicit Connection(std::string target) : target_(std::move(target)) {}

    bool alive() {
        if (conn_ == nullptr || PQstatus(conn_.get()) != CONNECTION_OK) connect();
        return PQstatus(conn_.get()) == CONNECTION_OK;
    }
    bool in_transaction() const { return PQtransactionStatus(conn_.get()) != PQTRANS_IDLE; }

    Result run(const std::string &sql, const std::vector<std::string> &arguments = {}) {
        std::vector<const char *> values;
        for (const std::string &a : arguments) values.push_back(a.c_str());
        return Result(PQexecParams(conn_.get(), sql.c_str(), static_cast<int>(values.size()),
                                   nullptr, values.data(), nullptr, nullptr, 0));
    }

private:
    void connect() {
        conn_.reset(PQconnectdb(target_.c_str()));
        PQsetNoticeProcessor(
            conn_.get(), [](void *, const char *) {}, nullptr);
    }

    std::string target_;
    std::unique_ptr<PGconn, Closer> conn_;
};

}  // namespace torture
