// Finds the probes with which a language runtime reports function calls.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "bpf/functions.h"
#include "calls/language_runtime.hpp"
#include "core/result.hpp"

namespace lagtrap::daemon {

struct RuntimeProbe {
    std::uint64_t offset = 0;     // in the file
    std::uint64_t semaphore = 0;  // in the file; 0 if there is none
    bool at_end = false;          // at the end of a call
    lagtrap_runtime_site site{};  // cost and number are set later
};

struct PlannedRuntime {
    calls::Runtime runtime = calls::Runtime::Ruby;
    std::uint32_t file = 0;  // number in the plan
    std::vector<RuntimeProbe> probes;
};

// `in_c`: include the language's functions that are written in C. Errors: NotFound (the file has
// none of these probes), Unsupported (an argument cannot be read), TooLarge (too many probe
// addresses).
[[nodiscard]] Result<std::vector<RuntimeProbe>> runtime_probes(const binaries::ProgramFile& file,
                                                               calls::Runtime runtime, bool in_c);

}  // namespace lagtrap::daemon
