// The reason for refusing a request.
#pragma once

#include <chrono>
#include <string>

namespace lagtrap::server {

struct Refusal {
    unsigned status = 500;  // HTTP status
    std::string message;
    std::string hint{};                   // what to do about it; may be empty
    std::chrono::seconds retry_after{0};  // 0: unknown
    std::string cause{};                  // for the server's own log; never sent
};

}  // namespace lagtrap::server
