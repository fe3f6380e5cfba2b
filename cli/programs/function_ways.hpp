// How the functions of a program can be watched.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct FunctionWay {
    std::string name;     // demangled, printable
    std::string written;  // as the settings name this function and no other; empty: no name is its alone
    std::string way;      // in a few words, how it can be watched, or why not
    bool watchable = false;
};

struct FunctionWays {
    std::vector<FunctionWay> functions;  // by name, none twice
    std::size_t count = 0;               // by address, parts of others not counted
    std::size_t watched = 0;
    std::size_t nothing_to_watch = 0;  // they never return, or no time passes in them

    // One line: how many of them can be watched.
    [[nodiscard]] std::string summary() const;
};

// Of a file that is read in this process. Takes a second for 15,000 functions where their instructions are looked at.
[[nodiscard]] Result<FunctionWays> ways_to_watch(const binaries::ProgramFile& file);

}  // namespace lagtrap::cli
