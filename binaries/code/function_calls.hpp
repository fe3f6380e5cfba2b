// What functions call, read from their machine code, and where their calls can be watched: many of a file at once.
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

// A pointer at a fixed address through which functions of other files are called (an entry of the global offset table).
struct CodeSlot {
    std::uint64_t address = 0;  // as linked
    std::string symbol;         // that the loader looks up for it; empty: none
};

// A call whose target only the running program knows: by a virtual table, a pointer.
struct IndirectCall {
    std::uint64_t file_offset = 0;
    JumpTarget target{};
};

struct FunctionCalls {
    std::string symbol;                  // empty: no symbol begins here
    std::string name;                    // as people write it, without parameters
    std::string first_code;              // code_bytes at most
    std::vector<FunctionExit> exits;     // by file offset; empty: see `problem`, or return_probe
    bool return_probe = false;           // exceptions do not pass: the kernel's return probe may be put on its entry
    std::string problem;                 // why its calls cannot be watched; empty: they can
    std::vector<std::uint64_t> callees;  // in the same file: where they begin; ascending, none twice
    std::vector<CodeSlot> slots;         // by address, none twice
    std::vector<IndirectCall> indirect;  // that a probe can be put on
    // Of a function of Go, as FunctionPlaces has them; 0: another function.
    std::uint32_t goid_offset = 0;
    std::uint32_t frame_offset = 0;
    std::uint64_t entry = 0;  // of a function of Go: where each call passes once (function_entry()); else 0
};

// One answer for each of `functions`, which are file offsets of first instructions. Direct calls and tail jumps lead to
// callees; those to a jump through a pointer (the procedure linkage table) to its slot. What cannot be decoded has no callees and
// a problem; so has what is not of Go in a program of Go. Errors: those of ProgramFile::functions(); Unsupported: no x86-64 file;
// TooLarge: more than max_call_queries.
[[nodiscard]] Result<std::vector<FunctionCalls>> function_calls(const ProgramFile& file,
                                                                const std::vector<std::uint64_t>& functions);

}  // namespace lagtrap::binaries
