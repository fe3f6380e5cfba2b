// Where a function is left, so that its end can be watched without a return probe of the kernel.
//
// A return probe replaces the return address on the stack by that of a page of the kernel's (Linux
// kernel/events/uprobes.c, prepare_uretprobe). What walks the stack finds no unwind information there: a C++
// exception or a panic of Rust that passes such a frame ends the program ("terminate called after throwing..."), and
// the runtime of Go stops. Probes on the instructions that leave the function change nothing on the stack.
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

// When a direct jump is taken: 1 + the condition's code in the instruction (Intel SDM, volume 1, appendix B), or what
// JRCXZ and JECXZ look at.
enum class JumpCondition : std::uint8_t {
    Always = 0,
    Overflow = 1,
    NotLess = 15,
    Greater = 16,
    RcxZero = 17,
    EcxZero = 18
};

// Where an indirect jump leads to: the value of a register, or of 8 bytes in memory. Registers are numbered as machine
// code does.
inline constexpr std::uint8_t no_jump_register = 0xff;
struct JumpTarget {
    std::int64_t displacement = 0;
    std::uint8_t base = no_jump_register;
    std::uint8_t index = no_jump_register;
    std::uint8_t scale_shift = 0;
    bool in_memory = false;  // else the value of `base`
};

// Code of the function, counted from the jump's own address; 0, 0: none.
struct JumpRange {
    std::int32_t begin = 0;
    std::int32_t end = 0;
};
inline constexpr std::size_t max_jump_ranges = 4;

// One instruction by which the function may be left.
struct FunctionExit {
    std::uint64_t file_offset = 0;
    JumpCondition condition = JumpCondition::Always;
    bool of_others_too = false;  // it ends calls of another function too, to which this one is a mere jump
    // Of an indirect jump that may also stay: it leaves if its target is in none of these, or is the first instruction.
    bool by_target = false;
    JumpTarget target{};
    std::array<JumpRange, max_jump_ranges> within{};
};

struct FunctionExits {
    std::vector<FunctionExit> exits;  // by file offset, none twice
    // Without conditions: each time that one of them is reached, the function is left.
    [[nodiscard]] bool always() const;
};

// Every instruction by which control goes from `function`, one of `file`, back to its caller or on to another function:
// returns; jumps to outside the function (tail calls), conditional ones too; a jump to the function's own first
// instruction (it begins anew). A function that is nothing but a jump to another one ends where that one does. Parts that compilers put elsewhere ("NAME.cold") belong to the function. They are told
// from tail calls by unwind information: at a tail call the stack pointer is what it was at the function's first
// instruction. Where it is so at the jump to a part too, a part is what nothing else in the file refers to.
//
// A function of Go is left by the same instructions. Its jump to the first instruction, after the stack was moved, does not leave
// it. What is reached when a panic was recovered, by no jump, counts.
//
// At each exit, before it is executed, the stack pointer is what it was at the function's first instruction. None
// is reached when an exception, longjmp or the end of the thread leaves the function, and a tail call ends
// the function before the called one has done its work.
//
// x86-64 only. Errors, each with the reason and what to watch instead: ErrorKind::NotFound where there is nothing to watch: a
// function that is left by its first instruction, so that no time passes in it; one without an exit. Invalid: a part of
// another function. Unsupported: other machines; a function of which nothing says how large it is, or outside the file's
// code; bytes that cannot be decoded; jumps that cannot be told; instructions that the kernel takes no probe on.
// TooLarge: more than 4 MiB of code, more than 4096 exits. Errors of ProgramFile::functions().
[[nodiscard]] Result<FunctionExits> function_exits(const ProgramFile& file, const Function& function);

// The reason alone of an error of function_exits(), without file and function: "never returns; watch ...".
[[nodiscard]] std::string exit_problem(const Error& error, const Function& function);

// Where in the file the instruction lies that each call of `function` passes once: the first one; in functions of Go the one
// behind the check of the stack, before anything has changed. Only of a file that is read here.
// ErrorKind::Unsupported: a function of Go without such a place, or in a program that is refused (ProgramFile::go_refusal()).
[[nodiscard]] Result<std::uint64_t> function_entry(const ProgramFile& file, const Function& function);

}  // namespace lagtrap::binaries
