// A connection to PostgreSQL through libpq.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "server/store/connection.hpp"

namespace lagtrap::server {

class PostgresConnection : public Connection {
  public:
    // `address` is a URI of libpq. ErrorKind::Busy if the server cannot be reached.
    [[nodiscard]] static Result<std::unique_ptr<PostgresConnection>> open(
        const std::string& address);

    using Connection::execute;
    using Connection::query;
    [[nodiscard]] Result<std::unique_ptr<Rows>> query(const std::string& sql,
                                                      std::span<const Value> values) override;
    [[nodiscard]] Result<std::uint64_t> execute(const std::string& sql,
                                                std::span<const Value> values) override;
    [[nodiscard]] Status script(const std::string& sql) override;

    // COPY ... FROM STDIN (FORMAT binary) with `data`.
    [[nodiscard]] Status copy_in(const std::string& sql, std::string_view data);

    [[nodiscard]] bool broken() const { return lost_ || PQstatus(handle_.get()) != CONNECTION_OK; }
    // Whether repeating the transaction can fix the last error.
    [[nodiscard]] bool worth_repeating() const { return repeatable_; }

  private:
    struct Close {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };
    struct Clear {
        void operator()(PGresult* result) const { PQclear(result); }
    };
    using Answer = std::unique_ptr<PGresult, Clear>;
    friend class PostgresRows;

    explicit PostgresConnection(PGconn* handle) : handle_(handle) {}
    [[nodiscard]] Result<Answer> run(const std::string& sql, std::span<const Value> values);
    [[nodiscard]] Error error(const PGresult* result);

    std::unique_ptr<PGconn, Close> handle_;
    bool repeatable_ = false;
    bool lost_ = false;
};

}  // namespace lagtrap::server
