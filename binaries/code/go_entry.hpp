// Finds the entry of Go functions after their stack check. Internal to binaries/.
#pragma once

#include <cstdint>

#include "binaries/code/program_code.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// The address, as linked, of the first instruction that each call of a Go function passes exactly
// once. A Go function starts by checking its stack size. If the stack is too small, the runtime
// moves it and the function starts again. So this is the instruction after the check; stack pointer
// and arguments are still those of the first instruction. `part` is the function's own code.
// ErrorKind::Unsupported, with the reason, if there is no such instruction.
[[nodiscard]] Result<std::uint64_t> go_entry(const ProgramCode& code, const CodePart& part);

}  // namespace lagtrap::binaries
