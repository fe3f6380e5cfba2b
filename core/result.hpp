// Result<T>: a value, or an error with its context. Everything that can fail returns one.
#pragma once

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lagtrap {

// Error categories that callers tell apart. `NotFound` and `Vanished` are normal results rather
// than failures: a process may exit while its /proc entry is read.
enum class ErrorKind {
    Invalid,
    NotFound,
    Vanished,
    Denied,
    Unsupported,
    TooLarge,
    Busy,
    Timeout,
    System
};

// An error: its kind, the errno it came from (0 if none), and a message that gets a prefix at each
// level.
struct Error {
    ErrorKind kind = ErrorKind::System;
    int system_errno = 0;
    std::string message;

    // Returns this error with the caller's action prefixed: "reading X: no such file".
    [[nodiscard]] Error within(std::string_view doing) const& {
        return Error{kind, system_errno, std::string(doing) + ": " + message};
    }
};

[[nodiscard]] inline Error make_error(ErrorKind kind, std::string message) {
    return Error{kind, 0, std::move(message)};
}

// Makes an error from errno, or from `number`, a positive errno value, which determines its kind.
[[nodiscard]] inline Error system_error(std::string_view doing, int number = errno) {
    ErrorKind kind = ErrorKind::System;
    if (number == ENOENT) kind = ErrorKind::NotFound;
    if (number == ESRCH) kind = ErrorKind::Vanished;
    if (number == EACCES || number == EPERM) kind = ErrorKind::Denied;
    if (number == EBUSY || number == EAGAIN) kind = ErrorKind::Busy;
    if (number == EOPNOTSUPP || number == ENOSYS) kind = ErrorKind::Unsupported;
    return Error{kind, number, std::string(doing) + ": " + std::strerror(number)};
}

template <typename T = std::monostate>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    // Only if ok(); throws std::bad_variant_access otherwise.
    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    // Only if not ok().
    [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;
[[nodiscard]] inline Status success() { return Status{std::monostate{}}; }

}  // namespace lagtrap

#define LAGTRAP_JOIN_(a, b) a##b
#define LAGTRAP_JOIN(a, b) LAGTRAP_JOIN_(a, b)

// TRY(expression): if the expression is an error, returns it from the enclosing function.
#define TRY(expression)                                                             \
    do {                                                                            \
        if (auto try_status = (expression); !try_status) return try_status.error(); \
    } while (false)

// TRY_ASSIGN(declaration, expression): the same, and assigns the value to the declared variable.
#define TRY_ASSIGN(declaration, expression) \
    TRY_ASSIGN_(LAGTRAP_JOIN(try_result_, __LINE__), declaration, expression)
#define TRY_ASSIGN_(result, declaration, expression) \
    auto result = (expression);                      \
    if (!result) return result.error();              \
    declaration = std::move(result).value()
