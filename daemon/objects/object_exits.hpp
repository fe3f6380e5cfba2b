// Where functions end that end by a jump.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "binaries/code/return_sites.hpp"
#include "binaries/elf/program_file.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

// The exits of a function of this file, with those of the functions to which it jumps in place of the jumps. False: a jump
// cannot be followed. Those through pointers cannot; without `all` they are left out.
[[nodiscard]] bool follow_exits(ProcessFiles& code, std::uint32_t file, const binaries::FunctionCalls& from, bool all,
                                std::vector<binaries::FunctionExit>& exits);

// The address, as linked, of the pointer through which the jump at this offset leads, itself or by a jump through one (the
// procedure linkage table); nullopt: it leads through none.
[[nodiscard]] std::optional<std::uint64_t> jump_slot(const binaries::ProgramFile& program, std::uint64_t offset);

}  // namespace lagtrap::daemon
