// A database connection, the same for both engines. Statements use the SQL that both support, with
// parameters $1, $2, ...
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// A parameter. Texts and bytes are borrowed and must live until the call returns.
class Value {
  public:
    enum class Kind { Null, Integer, Text, Bytes };

    Value(std::nullopt_t) : kind_(Kind::Null) {}
    template <typename Integer>
    requires(std::is_integral_v<Integer> || std::is_enum_v<Integer>) Value(Integer value)
        : kind_(Kind::Integer), integer_(static_cast<std::int64_t>(value)) {}
    Value(std::string_view text) : kind_(Kind::Text), text_(text) {}
    Value(const std::string& text) : kind_(Kind::Text), text_(text) {}
    Value(const char* text) : kind_(Kind::Text), text_(text) {}
    template <typename Integer>
    Value(const std::optional<Integer>& value) : kind_(value ? Kind::Integer : Kind::Null) {
        if (value) integer_ = static_cast<std::int64_t>(*value);
    }
    [[nodiscard]] static Value bytes(std::string_view bytes) {
        Value value(bytes);
        value.kind_ = Kind::Bytes;
        return value;
    }

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] std::int64_t integer() const { return integer_; }
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    Kind kind_;
    std::int64_t integer_ = 0;
    std::string_view text_;
};

using Values = std::vector<Value>;

// "$N", N from 1.
[[nodiscard]] inline std::string parameter_name(std::size_t number) {
    std::string name("$");
    return name.append(std::to_string(number));
}

// The rows of a result, one after the other. Must be destroyed before its connection.
class Rows {
  public:
    Rows() = default;
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    virtual ~Rows() = default;

    // Moves to the next row; false after the last.
    [[nodiscard]] virtual Result<bool> next() = 0;
    // Columns count from 0. NULL gives 0 or empty. Views are valid until the next row.
    [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
    [[nodiscard]] virtual std::string_view bytes(int column) const = 0;
    [[nodiscard]] virtual bool is_null(int column) const = 0;

    [[nodiscard]] std::uint64_t natural(int column) const {
        return static_cast<std::uint64_t>(integer(column));
    }
    [[nodiscard]] std::uint32_t small(int column) const {
        return static_cast<std::uint32_t>(integer(column));
    }
    [[nodiscard]] std::string text(int column) const { return std::string(bytes(column)); }
    [[nodiscard]] std::optional<std::uint64_t> optional(int column) const {
        return is_null(column) ? std::nullopt : std::optional(natural(column));
    }
};

// One thread at a time.
class Connection {
  public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    virtual ~Connection() = default;

    [[nodiscard]] virtual Result<std::unique_ptr<Rows>> query(const std::string& sql,
                                                              std::span<const Value> values) = 0;
    // Returns how many rows were changed.
    [[nodiscard]] virtual Result<std::uint64_t> execute(const std::string& sql,
                                                        std::span<const Value> values) = 0;
    // Runs several statements without parameters.
    [[nodiscard]] virtual Status script(const std::string& sql) = 0;

    [[nodiscard]] Result<std::unique_ptr<Rows>> query(const std::string& sql,
                                                      std::initializer_list<Value> values = {}) {
        return query(sql, std::span<const Value>(values.begin(), values.size()));
    }
    [[nodiscard]] Result<std::uint64_t> execute(const std::string& sql,
                                                std::initializer_list<Value> values = {}) {
        return execute(sql, std::span<const Value>(values.begin(), values.size()));
    }
    // The first column of the first row; nullopt if there are no rows or it is NULL.
    [[nodiscard]] Result<std::optional<std::int64_t>> number(
        const std::string& sql, std::initializer_list<Value> values = {}) {
        TRY_ASSIGN(const auto rows, query(sql, values));
        TRY_ASSIGN(const bool found, rows->next());
        if (!found || rows->is_null(0)) return std::optional<std::int64_t>();
        return std::optional(rows->integer(0));
    }
};

}  // namespace lagtrap::server
