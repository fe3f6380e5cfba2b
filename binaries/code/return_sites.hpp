// Finds the instructions that leave a function, so that its end can be watched without a kernel
// return probe.
//
// A return probe replaces the return address on the stack by the address of a kernel page (Linux
// kernel/events/uprobes.c, prepare_uretprobe). Unwinders find no unwind information there. A C++
// exception or Rust panic that passes such a frame terminates the program ("terminate called after
// throwing..."), and the Go runtime aborts. Probes on the instructions that leave the function do
// not change the stack.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

inline constexpr std::uint64_t max_function_bytes = 4 << 20;
inline constexpr std::size_t max_return_sites = 4096;

// When a direct jump is taken: 1 + the condition code in the instruction (Intel SDM, volume 1,
// appendix B), or the register that JRCXZ and JECXZ test.
enum class JumpCondition : std::uint8_t {
    Always = 0,
    Overflow = 1,
    NotLess = 15,
    Greater = 16,
    RcxZero = 17,
    EcxZero = 18
};

// How an indirect jump finds its target: in a register, or in 8 bytes of memory. Register numbers
// are those of machine code.
inline constexpr std::uint8_t no_jump_register = 0xff;
struct JumpTarget {
    std::int64_t displacement = 0;
    std::uint8_t base = no_jump_register;
    std::uint8_t index = no_jump_register;
    std::uint8_t scale_shift = 0;
    bool in_memory = false;  // false: the target is the value of `base`
};

// Code of the function, relative to the jump's address; 0, 0 if unused.
struct JumpRange {
    std::int32_t begin = 0;
    std::int32_t end = 0;
};
inline constexpr std::size_t max_jump_ranges = 4;

// An instruction that may leave the function.
struct FunctionExit {
    std::uint64_t file_offset = 0;
    JumpCondition condition = JumpCondition::Always;
    // also ends calls of another function, to which this one just jumps
    bool of_others_too = false;
    // An indirect jump that may stay in the function. It leaves if its target is in none of these
    // ranges, or is the first instruction.
    bool by_target = false;
    JumpTarget target{};
    std::array<JumpRange, max_jump_ranges> within{};
};

struct FunctionExits {
    std::vector<FunctionExit> exits;  // by file offset, without duplicates
    // True if there are no conditions: reaching any of them means leaving the function.
    [[nodiscard]] bool always() const;
};

// Returns every instruction of `function`, a function of `file`, that passes control to its caller
// or to another function: returns; jumps out of the function (tail calls), conditional ones too;
// jumps to its own first instruction (a new call). A function that is only a jump to another one
// ends where that one does.
//
// Parts that compilers place elsewhere ("NAME.cold") belong to the function. Unwind information
// tells jumps to them from tail calls: at a tail call, the stack pointer is what it was at the
// first instruction. If that also holds at a jump to a part, the target counts as a part only if
// nothing else in the file refers to it.
//
// Functions of Go are left by the same instructions, except that the jump to the first instruction
// after moving the stack does not leave. Code reached after recovering from a panic counts, though
// no jump leads there.
//
// At each exit, before it executes, the stack pointer is what it was at the function's first
// instruction. No exit is reached if an exception, longjmp or the end of the thread leaves the
// function. A tail call ends the function before the called function has done its work.
//
// x86-64 only. Errors, each with the reason and what to watch instead: ErrorKind::NotFound if there
// is nothing to watch, because the first instruction leaves the function or nothing does. Invalid
// for a part of another function. Unsupported for other machines; a function of unknown size or
// outside the file's code; undecodable bytes; jumps with unknown targets; instructions that the
// kernel cannot probe. TooLarge for more than 4 MiB of code or more than 4096 exits. Errors of
// ProgramFile::functions().
[[nodiscard]] Result<FunctionExits> function_exits(const ProgramFile& file,
                                                   const Function& function);

// The reason of a function_exits() error, without file and function: "never returns; watch ...".
[[nodiscard]] std::string exit_problem(const Error& error, const Function& function);

// The file offset of the instruction that each call of `function` passes exactly once: the first
// one, or in a Go function the one after the stack check, before anything has changed. Only for a
// file read in this process. ErrorKind::Unsupported for a Go function without such an instruction,
// or in a refused program (ProgramFile::go_refusal()).
[[nodiscard]] Result<std::uint64_t> function_entry(const ProgramFile& file,
                                                   const Function& function);

}  // namespace lagtrap::binaries
