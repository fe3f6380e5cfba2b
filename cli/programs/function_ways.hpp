// Determines how the functions of a program can be watched.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct FunctionWay {
    std::string name;     // demangled, printable
    std::string written;  // unique name for the settings; empty if no name is unique
    std::string way;      // how it can be watched, or why not, in a few words
    bool watchable = false;
};

struct FunctionWays {
    std::vector<FunctionWay> functions;  // by name, without duplicates
    std::size_t count = 0;               // by address, without parts of other functions
    std::size_t watched = 0;
    std::size_t nothing_to_watch = 0;  // they never return, or take no time

    // One line: how many of them can be watched.
    [[nodiscard]] std::string summary() const;
};

// For a file read in this process: with a file reader, it asks once per function. Takes a second
// per 15,000 functions whose instructions it has to examine.
[[nodiscard]] Result<FunctionWays> ways_to_watch(const binaries::ProgramFile& file);

// By a function's name and its unique name for the settings, as in FunctionWay.
using WantedFunction = std::function<bool(const std::string& name, const std::string& written)>;
inline constexpr std::size_t max_wanted_functions = 4096;

// Those that `wanted` accepts, by name; at most max_wanted_functions. Asks a file reader twice. One
// without a unique name is not watchable.
[[nodiscard]] Result<std::vector<FunctionWay>> ways_to_watch(const binaries::ProgramFile& file,
                                                             const WantedFunction& wanted);

}  // namespace lagtrap::cli
