// What can be watched in a program, a library or a running process.
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
    std::uint32_t argument_count = 0;  // of the site that has the fewest
    std::size_t sites = 0;
    bool in_code = true;  // each site lies in the file's code
};

struct FileMarkers {
    std::string path;                    // as the settings want it
    std::vector<ProbeMarker> probes;     // by provider and name
    std::vector<std::string> functions;  // demangled, by name, each once
    std::optional<FunctionWays> ways;    // how they can be watched, if that was looked at
    std::vector<std::string> libraries;  // those it needs, as the settings want them; of a program or library alone
};

// The file's markers. `shown_path` is the path that the settings should name, where `path` is another way to it.
enum class ListFunctions { No, Names, Ways };
[[nodiscard]] Result<FileMarkers> markers_of_file(const std::filesystem::path& path, const std::string& shown_path,
                                                  ListFunctions functions);

// Of a process's program and all libraries it has mapped; files that have no probes (and, with `functions`, no
// functions) or are gone are left out. `proc` is the folder /proc.
[[nodiscard]] Result<std::vector<FileMarkers>> markers_of_process(std::uint32_t pid, ListFunctions functions,
                                                                  const std::filesystem::path& proc = "/proc");

// Each marker that can be watched is an element to be pasted into the settings, in a line of its own with a comment; the
// others are comments. With `functions`, the files have been looked at for ways to watch them.
[[nodiscard]] std::string markers_text(const std::vector<FileMarkers>& files, bool functions);
[[nodiscard]] boost::json::array markers_json(const std::vector<FileMarkers>& files, bool functions);

}  // namespace lagtrap::cli
