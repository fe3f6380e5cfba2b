// Where the runtime of a language tells of its functions.
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
    std::uint64_t semaphore = 0;  // in the file; 0: none
    bool at_end = false;          // of a call
    lagtrap_runtime_site site{};  // without cost and number
};

struct PlannedRuntime {
    calls::Runtime runtime = calls::Runtime::Ruby;
    std::uint32_t file = 0;  // of the plan's
    std::vector<RuntimeProbe> probes;
};

// `in_c`: functions of the language that are machine code are wanted too. Errors: NotFound: the file has none of these probes;
// Unsupported: one has an argument that cannot be read.
[[nodiscard]] Result<std::vector<RuntimeProbe>> runtime_probes(const binaries::ProgramFile& file,
                                                               calls::Runtime runtime, bool in_c);

}  // namespace lagtrap::daemon
