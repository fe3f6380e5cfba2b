// Names places of a recording after the fact, from this machine's files, given folders, and
// debuginfod servers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "binaries/dwarf/source_lines.hpp"
#include "binaries/elf/debug_files.hpp"
#include "trace/names/module_symbols.hpp"
#include "trace/names/naming_budget.hpp"

namespace lagtrap::trace {

// A place without a name or source line.
struct UnnamedPlace {
    std::uint64_t address = 0;  // as linked: the frame's rel_pc
    std::string name;           // empty if unnamed
};

struct UnnamedModule {
    std::string path;
    std::string build_id;         // hexadecimal
    std::uint64_t load_bias = 0;  // address minus offset in the file, as in the recording
    std::vector<UnnamedPlace> places;
};

struct LaterNamesOptions {
    binaries::DebugFileSearch search;
    // That contain programs under their path or their file name.
    std::vector<std::filesystem::path> program_folders;
    NamingLimits limits{
        std::chrono::minutes(30), std::chrono::hours(2), 64ULL << 30, 4ULL << 30, 0, 0};
    binaries::DebugInfoLimits debug_info{16ULL << 30, 4ULL << 30};
};

// Names found for one module.
struct LaterNames {
    ModuleNames names;               // only places that gained something
    std::filesystem::path found_in;  // file with the symbols or lines; empty if none was found
    // why a file that was found is unusable; empty if there was no problem
    std::string problem;
};

// Tries the module's own path, then the folders, then the servers if `search` allows it. Accepts a
// file only if it has the module's build id. Holds the tables of one module in memory at a time.
[[nodiscard]] LaterNames find_later_names(const UnnamedModule& module,
                                          const LaterNamesOptions& options);

}  // namespace lagtrap::trace
