#include "server/store/postgres_connection.hpp"

#include <endian.h>

#include <cstring>

#include "server/store/postgres_failure.hpp"

namespace lagtrap::server {
namespace {

// OIDs of types from PostgreSQL's catalogue; they never change.
constexpr Oid type_bytea = 17;
constexpr Oid type_int8 = 20;
constexpr Oid type_text = 25;
constexpr int binary = 1;
constexpr std::size_t copy_piece_bytes = 1 << 20;
constexpr std::size_t message_limit_bytes = 500;

// Timeouts of a session: of a statement, a lock, and an idle transaction.
constexpr const char* session_settings =
    "SET statement_timeout='60s'; SET lock_timeout='20s'; SET "
    "idle_in_transaction_session_timeout='60s';"
    "SET client_min_messages=warning; SET synchronous_commit=on";

// Parameters in the form that PQexecParams needs.
class Parameters {
  public:
    explicit Parameters(std::span<const Value> values)
        : types_(values.size()),
          data_(values.size()),
          sizes_(values.size()),
          formats_(values.size(), binary) {
        integers_.reserve(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
    }
    [[nodiscard]] PGresult* run(PGconn* connection, const std::string& sql) const {
        return PQexecParams(connection, sql.c_str(), static_cast<int>(types_.size()), types_.data(),
                            data_.data(), sizes_.data(), formats_.data(), binary);
    }

  private:
    void set(std::size_t i, const Value& value) {
        const auto kind = value.kind();
        types_[i] = kind == Value::Kind::Text    ? type_text
                    : kind == Value::Kind::Bytes ? type_bytea
                                                 : type_int8;
        if (kind == Value::Kind::Null) return;
        if (kind == Value::Kind::Integer) {
            integers_.push_back(htobe64(static_cast<std::uint64_t>(value.integer())));
            data_[i] = reinterpret_cast<const char*>(&integers_.back());
            sizes_[i] = sizeof(std::uint64_t);
            return;
        }
        data_[i] = value.text().data() == nullptr ? "" : value.text().data();
        sizes_[i] = static_cast<int>(value.text().size());
    }

    std::vector<Oid> types_;
    std::vector<const char*> data_;
    std::vector<int> sizes_;
    std::vector<int> formats_;
    std::vector<std::uint64_t> integers_;
};

}  // namespace

class PostgresRows : public Rows {
  public:
    explicit PostgresRows(PostgresConnection::Answer answer) : answer_(std::move(answer)) {}

    Result<bool> next() override { return ++row_ < PQntuples(answer_.get()); }
    std::int64_t integer(int column) const override {
        const std::string_view value = bytes(column);
        std::uint64_t number = 0;
        for (const char byte : value) number = number << 8 | static_cast<unsigned char>(byte);
        // Shorter types are never negative in the schema.
        return static_cast<std::int64_t>(number);
    }
    std::string_view bytes(int column) const override {
        return {PQgetvalue(answer_.get(), row_, column),
                static_cast<std::size_t>(PQgetlength(answer_.get(), row_, column))};
    }
    bool is_null(int column) const override {
        return PQgetisnull(answer_.get(), row_, column) != 0;
    }

  private:
    PostgresConnection::Answer answer_;
    int row_ = -1;
};

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(const std::string& address) {
    const char* const names[] = {"dbname",          "connect_timeout", "fallback_application_name",
                                 "client_encoding", "keepalives_idle", nullptr};
    const char* const values[] = {address.c_str(), "5", "lagtrap-server", "UTF8", "30", nullptr};
    std::unique_ptr<PostgresConnection> connection(
        new PostgresConnection(PQconnectdbParams(names, values, 1)));
    if (connection->broken()) {
        auto failed = connection->error(nullptr);
        failed.kind = ErrorKind::Busy;
        return failed;
    }
    TRY(connection->script(session_settings));
    return connection;
}

Error PostgresConnection::error(const PGresult* result) {
    const char* state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* primary =
        result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    std::string message = primary == nullptr ? PQerrorMessage(handle_.get()) : primary;
    while (!message.empty() && message.back() == '\n') message.pop_back();
    Error error =
        make_error(ErrorKind::System, "database: " + message.substr(0, message_limit_bytes));
    const std::string_view code = state == nullptr ? "" : state;
    // Without a SQLSTATE the error is from libpq about the connection, which libpq may still
    // consider intact.
    lost_ = lost_ || code.empty();
    const PostgresFailure failure = failure_of_state(code);
    error.kind = broken() ? ErrorKind::Busy : failure.kind;
    error.system_errno = failure.system_errno;
    repeatable_ = failure.repeatable || broken();
    return error;
}

Result<PostgresConnection::Answer> PostgresConnection::run(const std::string& sql,
                                                           std::span<const Value> values) {
    Answer answer(Parameters(values).run(handle_.get(), sql));
    const auto status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return error(answer.get());
    return answer;
}

Result<std::unique_ptr<Rows>> PostgresConnection::query(const std::string& sql,
                                                        std::span<const Value> values) {
    TRY_ASSIGN(Answer answer, run(sql, values));
    return std::unique_ptr<Rows>(std::make_unique<PostgresRows>(std::move(answer)));
}

Result<std::uint64_t> PostgresConnection::execute(const std::string& sql,
                                                  std::span<const Value> values) {
    TRY_ASSIGN(const Answer answer, run(sql, values));
    const char* const changed = PQcmdTuples(answer.get());
    return *changed == 0 ? 0 : std::stoull(changed);
}

Status PostgresConnection::script(const std::string& sql) {
    const Answer answer(PQexec(handle_.get(), sql.c_str()));
    const auto status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
        return error(answer.get());
    return success();
}

Status PostgresConnection::copy_in(const std::string& sql, std::string_view data) {
    {
        const Answer begun(PQexec(handle_.get(), sql.c_str()));
        if (PQresultStatus(begun.get()) != PGRES_COPY_IN) return error(begun.get());
    }
    bool sent = true;
    for (std::size_t at = 0; sent && at < data.size(); at += copy_piece_bytes) {
        const auto piece = data.substr(at, copy_piece_bytes);
        sent = PQputCopyData(handle_.get(), piece.data(), static_cast<int>(piece.size())) == 1;
    }
    if (sent) sent = PQputCopyEnd(handle_.get(), nullptr) == 1;
    Status outcome = sent ? success() : Status(error(nullptr));
    for (Answer answer(PQgetResult(handle_.get())); answer;
         answer.reset(PQgetResult(handle_.get())))
        if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) outcome = error(answer.get());
    return outcome;
}

}  // namespace lagtrap::server
