// Shared by tests that trace functions of their own program with real probes.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/unique_fd.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/kernel/own_code.hpp"

namespace lagtrap::daemon {

using OwnCode = void (*)();

inline std::vector<CallFile> own_program() {
    return {{"daemon_tests",
             std::make_shared<const UniqueFd>(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC))}};
}

// A function of own_program() as a plan describes it; the kernel sees it return.
inline PlannedFunction own_function(OwnCode code) {
    PlannedFunction planned;
    planned.entry = own_file_offset(code).value();
    planned.return_probe = true;
    return planned;
}

// Nothing of the program is there.
inline PlannedFunction no_function() {
    PlannedFunction planned;
    planned.entry = std::uint64_t{1} << 40;
    planned.return_probe = true;
    return planned;
}

// The number of a process that has ended.
inline pid_t ended_process() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    return child;
}

}  // namespace lagtrap::daemon
