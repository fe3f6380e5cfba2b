// Result<T>: a value, or an error with its context. One spelling for everything that can fail.
#pragma once

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lagtrap {

// What a caller may want to tell apart. `NotFound` and `Vanished` are answers rather than failures: a
// process that exits while its /proc entry is read is ordinary life.
enum class ErrorKind { Invalid, NotFound, Vanished, Denied, Unsupported, TooLarge, Busy, Timeout, System };

// An error: its kind, the errno it came from (0 if none), and a message that grows a prefix at each level.
struct Error {
    ErrorKind kind = ErrorKind::System;
    int system_errno = 0;
    std::string message;

    // The same error, with what the caller was doing put before it: "reading X: no such file".
    [[nodiscard]] Error within(std::string_view doing) const& {
        return Error{kind, system_errno, std::string(doing) + ": " + message};
    }
};

[[nodiscard]] inline Error make_error(ErrorKind kind, std::string message) {
    return Error{kind, 0, std::move(message)};
}

// An error from errno (or from `number`, a positive errno value), its kind chosen from it.
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

    // Only where ok() holds; std::bad_variant_access otherwise.
    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    // Only where ok() does not hold.
    [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;
[[nodiscard]] inline Status success() { return Status{std::monostate{}}; }

}  // namespace lagtrap

#define LAGTRAP_JOIN_(a, b) a##b
#define LAGTRAP_JOIN(a, b) LAGTRAP_JOIN_(a, b)

// TRY(expression): returns the error from the enclosing function if there is one.
#define TRY(expression)                                                             \
    do {                                                                            \
        if (auto try_status = (expression); !try_status) return try_status.error(); \
    } while (false)

// TRY_ASSIGN(declaration, expression): the same, and gives the value a name.
#define TRY_ASSIGN(declaration, expression) TRY_ASSIGN_(LAGTRAP_JOIN(try_result_, __LINE__), declaration, expression)
#define TRY_ASSIGN_(result, declaration, expression) \
    auto result = (expression);                      \
    if (!result) return result.error();              \
    declaration = std::move(result).value()
