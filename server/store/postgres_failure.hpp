// What an error of PostgreSQL means for the store.
#pragma once

#include <string_view>

#include "core/result.hpp"

namespace lagtrap::server {

struct PostgresFailure {
    ErrorKind kind = ErrorKind::System;
    int system_errno = 0;
    bool repeatable = false;  // repeating the transaction can help
};

// `state` is an SQLSTATE, see appendix A of PostgreSQL's manual.
[[nodiscard]] PostgresFailure failure_of_state(std::string_view state);

}  // namespace lagtrap::server
