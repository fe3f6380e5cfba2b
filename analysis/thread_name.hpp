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

// Threads of one name in one process, or in any processes of one name.
[[nodiscard]] inline bool are_alike(const ThreadName& a, const ThreadName& b, bool in_any_process) {
    const bool same = in_any_process ? a.process == b.process : a.pid == b.pid;
    return same && a.thread == b.thread;
}

}  // namespace lagtrap::analysis
