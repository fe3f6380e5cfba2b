// How the functions of a program can be watched.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "binaries/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct FunctionWays {
    std::map<std::string, std::string> by_name;  // demangled: in a few words, how, or why not
    std::size_t functions = 0;                   // by address, parts of others not counted
    std::size_t watched = 0;
    std::size_t nothing_to_watch = 0;  // they never return, or no time passes in them

    // One line: how many of them can be watched.
    [[nodiscard]] std::string summary() const;
};

// Of a file that is read in this process. Takes a second for 15,000 functions where their instructions are looked at.
[[nodiscard]] Result<FunctionWays> ways_to_watch(const binaries::ProgramFile& file);

}  // namespace lagtrap::cli
