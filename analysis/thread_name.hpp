// Identifies a thread for people.
#pragma once

#include <cstdint>
#include <string>

namespace lagtrap::analysis {

struct ThreadName {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // 0 if unknown
    std::string process;
    std::string thread;
    std::string unit;  // or container, of the process; empty if unknown
};

}  // namespace lagtrap::analysis
