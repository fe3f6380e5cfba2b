// Finds the symbols and the DWARF of stripped programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/machine_root.hpp"

namespace lagtrap::binaries {

// Caches the contents of plain folders. Shared by copies of a search; thread-safe.
class DebugFolderIndex;
[[nodiscard]] std::shared_ptr<DebugFolderIndex> make_debug_folder_index();

struct DebugFileSearch {
    // Folders laid out like /usr/lib/debug (.build-id/xx/yyyy.debug, and by path), or plain folders
    // of debug files. Of folders without .build-id, the first 20,000 files, at most 8 levels deep,
    // are read once.
    std::vector<std::filesystem::path> folders{on_machine("/usr/lib/debug")};
    // Called last, with the build id in lower-case hexadecimal. Returns the debug file, which must
    // have this build id, or nullopt. May be empty. debug_server.hpp makes a function that asks
    // servers; never use it on a watched machine.
    std::function<std::optional<std::filesystem::path>(const std::string& build_id)> ask_servers;
    std::shared_ptr<DebugFolderIndex> index = make_debug_folder_index();
};

// Finds the debug information of `program`: in the program itself if it has DWARF; in a debug file
// by build id, or by debug link (name and CRC: beside the program, in .debug there, or in a folder
// by the program's path); in a plain folder; from a server. A debug file must have the program's
// build id (hexadecimal, may be empty). nullopt if there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_debug_file(
    const std::filesystem::path& program, const DebugFileSearch& search);

// The same if the program is not on this machine: only by build id, in hexadecimal.
[[nodiscard]] std::optional<std::filesystem::path> find_debug_file_of(
    const std::string& build_id, const DebugFileSearch& search);

// Finds the file into which dwz moved the common parts of `debug_file` (.gnu_debugaltlink), by
// name, and by build id in the folders above `debug_file` and in /usr/lib/debug. It must have the
// link's build id. nullopt if there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_alternate_file(
    const std::filesystem::path& debug_file);

}  // namespace lagtrap::binaries
