// Lists what can be watched in a program, a library or a running process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "cli/programs/function_ways.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct ProbeMarker {
    std::string provider;
    std::string name;
    std::uint32_t argument_count = 0;  // of the site with the fewest
    std::size_t sites = 0;
    bool in_code = true;  // all sites are in the file's code
};

struct FileMarkers {
    std::string path;                    // path to use in the settings
    std::vector<ProbeMarker> probes;     // by provider and name
    std::vector<std::string> functions;  // demangled, by name, without duplicates
    std::optional<FunctionWays> ways;    // how they can be watched, if that was determined
    // Libraries it needs, by the path to use in the settings; only if a program or library was
    // given.
    std::vector<std::string> libraries;
};

enum class ListFunctions { No, Names, Ways };
// Markers of the file at `path`. `shown_path` is the path to use in the settings, which may differ.
[[nodiscard]] Result<FileMarkers> markers_of_file(const std::filesystem::path& path,
                                                  const std::string& shown_path,
                                                  ListFunctions functions);

// Markers of a process's program and all libraries it has mapped. Skips files that are gone or have
// no probes (and, with `functions`, no functions). `proc` is the folder /proc.
[[nodiscard]] Result<std::vector<FileMarkers>> markers_of_process(
    std::uint32_t pid, ListFunctions functions, const std::filesystem::path& proc = "/proc");

// Each marker that can be watched is an element to paste into the settings, on its own line with a
// comment; the others are comments. With `functions`, `ways` of the files must be set.
[[nodiscard]] std::string markers_text(const std::vector<FileMarkers>& files, bool functions);
[[nodiscard]] boost::json::array markers_json(const std::vector<FileMarkers>& files,
                                              bool functions);

}  // namespace lagtrap::cli
