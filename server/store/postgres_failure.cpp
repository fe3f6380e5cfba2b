#include "server/store/postgres_failure.hpp"

#include <cerrno>

namespace lagtrap::server {
namespace {

ErrorKind kind_of(std::string_view state) {
    if (state == "57014") return ErrorKind::Timeout;
    if (state == "40001" || state == "40P01" || state == "55P03" || state == "23505" ||
        state.starts_with("08") || state.starts_with("57P") || state.starts_with("53"))
        return ErrorKind::Busy;
    return ErrorKind::System;
}

}  // namespace

PostgresFailure failure_of_state(std::string_view state) {
    PostgresFailure failure;
    failure.kind = kind_of(state);
    if (state == "53100") failure.system_errno = ENOSPC;
    failure.repeatable = state == "40001" || state == "40P01" || state == "23505";
    return failure;
}

}  // namespace lagtrap::server
