// Functions and source lines at places of one file, from its symbols and its DWARF.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "binaries/dwarf/source_lines.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::binaries {

using OpenDebugFile = std::function<Result<UniqueFd>(const std::filesystem::path&)>;

struct PlaceNamesRequest {
    std::filesystem::path path;          // where the program was found: debug files lie beside it
    std::vector<std::uint64_t> offsets;  // in the file; ascending ones are the cheapest
    std::uint64_t symbol_table_bytes = 96 << 20;
    std::uint64_t read_bytes = 1ULL << 30;  // of debug information
    DebugInfoLimits debug_info;
    std::chrono::milliseconds cpu_time{2000};
    // Opens the debug files for the process that reads, as BrokerPolicy::open_program; empty: this thread does, which may wait
    // for their file systems.
    OpenDebugFile open_debug_file{};
};

struct PlaceName {
    std::string symbol;               // empty: none
    std::vector<SourceFrame> frames;  // innermost first; empty: not known
};

struct PlaceNames {
    std::vector<PlaceName> places;  // one for each offset
    bool left_out = false;          // symbols were beyond the limits: another time they may fit
};

// By the process that reads files for this one, if there is one (file_reader.hpp), else here. `program` is the open
// file. Errors: the reader failed.
[[nodiscard]] Result<PlaceNames> name_places(const UniqueFd& program, const PlaceNamesRequest& request);

}  // namespace lagtrap::binaries
