// A thread as people know it.
#pragma once

#include <cstdint>
#include <string>

namespace lagtrap::analysis {

struct ThreadName {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // 0: not known
    std::string process;
    std::string thread;
    std::string unit;  // or container, of the process; empty: not known
};

}  // namespace lagtrap::analysis
