// Names functions and source lines at offsets of one file, from its symbols and DWARF.
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
    // where the program was found; debug files may be beside it
    std::filesystem::path path;
    std::vector<std::uint64_t> offsets;  // in the file; fastest if ascending
    std::uint64_t symbol_table_bytes = 96 << 20;
    std::uint64_t read_bytes = 1ULL << 30;  // of debug information
    DebugInfoLimits debug_info;
    std::chrono::milliseconds cpu_time{2000};
    // Opens debug files on behalf of the reader, as BrokerPolicy::open_program does. If empty, this
    // thread opens them, which may block on their file systems.
    OpenDebugFile open_debug_file{};
};

struct PlaceName {
    std::string symbol;               // empty if there is none
    std::vector<SourceFrame> frames;  // innermost first; empty if unknown
};

struct PlaceNames {
    std::vector<PlaceName> places;  // one per offset
    bool left_out = false;          // symbols exceeded the limits and may fit another time
};

// Uses this process's file reader if it has one (file_reader.hpp). `program` is the open file.
// Fails if the reader failed.
[[nodiscard]] Result<PlaceNames> name_places(const UniqueFd& program,
                                             const PlaceNamesRequest& request);

}  // namespace lagtrap::binaries
