// Why the server does not do what was asked.
#pragma once

#include <chrono>
#include <string>

namespace lagtrap::server {

struct Refusal {
    unsigned status = 500;  // of HTTP
    std::string message;
    std::string hint{};                   // what to do about it; may be empty
    std::chrono::seconds retry_after{0};  // 0: not said
    std::string cause{};                  // for the server's own log; never sent
};

}  // namespace lagtrap::server
