// Finds what functions call and where their calls can be probed, from machine code, for many
// functions of a file at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/code/return_sites.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

inline constexpr std::size_t max_call_queries = 4096;
inline constexpr std::size_t max_callees_of_function = 16384;

// A pointer at a fixed address through which functions of other files are called (an entry of the
// global offset table).
struct CodeSlot {
    std::uint64_t address = 0;  // as linked
    std::string symbol;         // the symbol that the loader resolves for it; empty if none
};

// A call whose target is known only at run time: through a virtual table or a function pointer.
struct IndirectCall {
    std::uint64_t file_offset = 0;
    JumpTarget target{};
};

struct FunctionCalls {
    std::string symbol;      // empty if no symbol starts here
    std::string name;        // demangled, without parameters
    std::string first_code;  // at most code_bytes
    // by file offset; empty if `problem` is set or return_probe is true
    std::vector<FunctionExit> exits;
    // exceptions do not pass, so a kernel return probe may be used
    bool return_probe = false;
    std::string problem;  // why its calls cannot be watched; empty if they can
    // entry addresses in the same file, ascending, without duplicates
    std::vector<std::uint64_t> callees;
    std::vector<CodeSlot> slots;         // by address, without duplicates
    std::vector<IndirectCall> indirect;  // those that can be probed
    // For a function of Go, as in FunctionPlaces; 0 otherwise.
    std::uint32_t goid_offset = 0;
    std::uint32_t frame_offset = 0;
    // for Go: the instruction that each call passes once (function_entry()); otherwise 0
    std::uint64_t entry = 0;
};

// One result per element of `functions`, which are file offsets of first instructions. Direct calls
// and tail jumps count as callees, those to linkage-table jumps as slots. A function that cannot be
// decoded has no callees and a problem, and so does a function not written in Go in a Go program.
// Errors: those of ProgramFile::functions(); ErrorKind::Unsupported if it is not an x86-64 file;
// TooLarge for more than max_call_queries.
[[nodiscard]] Result<std::vector<FunctionCalls>> function_calls(
    const ProgramFile& file, const std::vector<std::uint64_t>& functions);

}  // namespace lagtrap::binaries
