// Where a function is left, so that its end can be watched without a return probe of the kernel.
//
// A return probe replaces the return address on the stack by that of a page of the kernel's (Linux
// kernel/events/uprobes.c, prepare_uretprobe). What walks the stack finds no unwind information there: a C++
// exception or a panic of Rust that passes such a frame ends the program ("terminate called after throwing..."), and
// the runtime of Go stops. Probes on the instructions that leave the function change nothing on the stack.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

inline constexpr std::uint64_t kMaxFunctionBytes = 1 << 20;
inline constexpr std::size_t kMaxReturnSites = 4096;

struct FunctionExits {
    // File offsets of the instructions, ascending, none twice.
    std::vector<std::uint64_t> file_offsets;
    // Indirect jumps that may be tail calls (of a virtual function, say) and may be jumps within the function: they
    // are not among the offsets. If they leave the function, that is not seen.
    std::uint32_t unclear_jumps = 0;
};

// Every instruction by which control goes from `function`, one of `file`, back to its caller or on to another function:
// returns; direct jumps to outside the function (tail calls, in programs and through the procedure linkage table);
// jumps through the global offset table; a jump to the function's own first instruction (it begins anew). The part
// that gcc and clang put elsewhere as "NAME.cold" belongs to the function where the symbol table has it; in a stripped
// file an unconditional jump to it looks like a tail call.
//
// At each of them, before it is executed, the stack pointer is what it was at the function's first instruction. None
// is reached when an exception, longjmp or the end of the thread leaves the function, and a tail call ends
// the function before the called one has done its work.
//
// x86-64 only. ErrorKind::Unsupported, with the reason: other machines; a function without size or outside the file's
// code; bytes that cannot be decoded; a conditional jump to outside or to the first instruction, a far return (a
// probe there can not tell whether the function is left); a function that is left by its first instruction; one that
// has no return and none of the jumps above, or no return and unclear jumps. ErrorKind::TooLarge: more than 1 MiB of
// code, more than 4096 instructions. Errors of ProgramFile::functions().
[[nodiscard]] Result<FunctionExits> function_exits(const ProgramFile& file, const Function& function);

// The file offsets of function_exits() alone.
[[nodiscard]] Result<std::vector<std::uint64_t>> return_sites(const ProgramFile& file, const Function& function);

}  // namespace lagtrap::binaries
