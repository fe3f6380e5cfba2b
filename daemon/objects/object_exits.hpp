// Finds where functions end that end with a jump.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "binaries/code/return_sites.hpp"
#include "binaries/elf/program_file.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

// The exits of a function, with each jump replaced by the exits of the function that it jumps to.
// False if a jump cannot be followed. Jumps through pointers cannot; they are ignored if `all` is
// false.
[[nodiscard]] bool follow_exits(ProcessFiles& code, std::uint32_t file,
                                const binaries::FunctionCalls& from, bool all,
                                std::vector<binaries::FunctionExit>& exits);

// The link-time address of the pointer that the jump at this offset uses, directly or through the
// procedure linkage table; nullopt if it uses none.
[[nodiscard]] std::optional<std::uint64_t> jump_slot(const binaries::ProgramFile& program,
                                                     std::uint64_t offset);

}  // namespace lagtrap::daemon
