// Shared by tests that trace functions of their own program with real probes.
#pragma once

#include <dlfcn.h>
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
#include "tests/unit/daemon/process_fixture.hpp"

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

// This process, as if it had mapped only a program, and the library of
// tests/unit/daemon/programs/own_allocator.cpp.
class OwnLibrary : public MadeUpProcess {
  public:
    OwnLibrary() : MadeUpProcess({"/opt/shop/shop", "/usr/lib/libsys.so.1"}) {
        programs["/usr/lib/libsys.so.1"] = own_allocator();
    }
    Result<InspectedProcess> read(std::uint32_t process, Code code,
                                  const InspectionLimits& limits) override {
        const bool is_own = process == static_cast<std::uint32_t>(::getpid());
        return MadeUpProcess::read(is_own ? pid : 0, code, limits);
    }
};

// Calls functions of the library that OwnLibrary has mapped.
class LibraryCalls {
  public:
    using Function = std::uint64_t (*)(std::uint64_t);
    LibraryCalls()
        : library_(::dlopen(MadeUpProcess::own_allocator().c_str(), RTLD_LAZY | RTLD_LOCAL)) {
        EXPECT_NE(library_, nullptr) << ::dlerror();
        valloc = reinterpret_cast<Function>(::dlsym(library_, "valloc"));
        realloc = reinterpret_cast<Function>(::dlsym(library_, "realloc"));
    }
    ~LibraryCalls() { ::dlclose(library_); }
    LibraryCalls(const LibraryCalls&) = delete;
    LibraryCalls& operator=(const LibraryCalls&) = delete;

    Function valloc = nullptr, realloc = nullptr;

  private:
    void* library_;
};

}  // namespace lagtrap::daemon
