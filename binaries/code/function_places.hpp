// Where functions are probed to watch their calls: many of a file at once, so that its tables are read once.
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
    bool at_return = false;  // else at the entry
};

struct FunctionPlaces {
    std::vector<FunctionExit> places;  // by file offset, none twice
    bool return_probe = false;         // of the kernel's, at the entries; else plain probes
    std::string first_code;            // the first bytes of the first place, code_bytes at most
    // Of a function of Go: where a goroutine's number is in its structure, in bytes. 0: another function.
    std::uint32_t goid_offset = 0;
    std::uint32_t frame_offset = 0;   // the same, of the frame pointer of a goroutine that waits
    bool arguments_on_stack = false;  // of a function of Go that is written in assembly; else they are in registers
};

// One answer for each query: ErrorKind::NotFound where no function has the name; errors of function_exits(). All of them
// fail where the file's symbols cannot be read.
//
// A function of Go is entered behind the check of its stack, which may come to its first instruction a second time.
//
// A return probe of the kernel hides the caller from whoever unwinds the stack: an exception that passes the function
// would end the program. Where exceptions may pass, the instructions that leave the function are probed instead.
[[nodiscard]] Result<std::vector<Result<FunctionPlaces>>> function_places(const ProgramFile& file,
                                                                          const std::vector<FunctionQuery>& queries);

}  // namespace lagtrap::binaries
