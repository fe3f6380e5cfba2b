// Names for the places of a recording, looked for later: in this machine's files, in folders, on debuginfod servers.
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

// A place that has no name, or no source line.
struct UnnamedPlace {
    std::uint64_t address = 0;  // as linked: the frames' rel_pc
    std::string name;           // empty: none
};

struct UnnamedModule {
    std::string path;
    std::string build_id;         // hexadecimal
    std::uint64_t load_bias = 0;  // address minus offset in the file, as the recording has it
    std::vector<UnnamedPlace> places;
};

struct LaterNamesOptions {
    binaries::DebugFileSearch search;
    std::vector<std::filesystem::path> program_folders;  // where programs lie by their path or their file name
    NamingLimits limits{std::chrono::minutes(30), std::chrono::hours(2), 64ULL << 30, 4ULL << 30, 0, 0};
    binaries::DebugInfoLimits debug_info{16ULL << 30, 4ULL << 30};
};

// What was found of one module.
struct LaterNames {
    ModuleNames names;               // only places that are better known than before
    std::filesystem::path found_in;  // file with the symbols or lines; empty: none was found
    std::string problem;             // why a file that was found does not serve; empty: none
};

// Tries the module's own path, the folders, then, if `search` says so, the servers; a file counts only if it has the
// module's build id. One module's tables are in memory at a time.
[[nodiscard]] LaterNames find_later_names(const UnnamedModule& module, const LaterNamesOptions& options);

}  // namespace lagtrap::trace
