// Finds where to probe functions, for many of a file at once, so that its tables are read only
// once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/code/return_sites.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

inline constexpr std::uint32_t max_go_offset = 4096;

struct FunctionQuery {
    std::string name;        // as for ProgramFile::find_functions()
    bool at_return = false;  // false: at the entry
};

struct FunctionPlaces {
    std::vector<FunctionExit> places;  // by file offset, without duplicates
    // use the kernel's return probes at the entries; false: plain probes
    bool return_probe = false;
    std::string first_code;  // the first bytes at the first place, at most code_bytes
    // For a function of Go: offset of a goroutine's number in its structure, in bytes. 0 otherwise.
    std::uint32_t goid_offset = 0;
    std::uint32_t frame_offset = 0;  // likewise, of a waiting goroutine's frame pointer
    // for a function of Go written in assembly; otherwise arguments are in registers
    bool arguments_on_stack = false;
};

// One result per query: ErrorKind::NotFound if no function has the name, or an error of
// function_exits(). The whole call fails if the file's symbols cannot be read.
//
// The entry of a Go function is after its stack check, because the first instruction may run twice.
//
// A kernel return probe hides the caller from unwinders: an exception that passes the function
// would terminate the program. If exceptions may pass, the instructions that leave the function are
// probed instead.
[[nodiscard]] Result<std::vector<Result<FunctionPlaces>>> function_places(
    const ProgramFile& file, const std::vector<FunctionQuery>& queries);

}  // namespace lagtrap::binaries
