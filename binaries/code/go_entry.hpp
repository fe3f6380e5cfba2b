// Where the functions of Go begin for good. Used by the other files of this folder.
#pragma once

#include <cstdint>

#include "binaries/code/program_code.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// The address, as linked, of the first instruction that each call of a function of Go passes once. A function begins with a check
// whether its stack is large enough; if not, the stack is moved to where there is room, and the function begins anew. So the
// place is behind the check: stack pointer and arguments are what they were at the first instruction.
// `part`: the function's own code. ErrorKind::Unsupported: the function has no such place, with the reason.
[[nodiscard]] Result<std::uint64_t> go_entry(const ProgramCode& code, const CodePart& part);

}  // namespace lagtrap::binaries
