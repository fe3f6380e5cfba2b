// Where the symbols and the DWARF of a stripped program are.
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

// What is known of plain folders, so that they are read once. Shared by the copies of a search; any thread.
class DebugFolderIndex;
[[nodiscard]] std::shared_ptr<DebugFolderIndex> make_debug_folder_index();

struct DebugFileSearch {
    // Folders laid out as /usr/lib/debug is (.build-id/xx/yyyy.debug, and by path), or plain folders of debug files:
    // of those without .build-id the first 20,000 files, down to 8 folders deep, are looked at, once.
    std::vector<std::filesystem::path> folders{on_machine("/usr/lib/debug")};
    // Asked last, with the build id in lower-case hexadecimal: the debug file, or nullopt. Empty: nobody is asked.
    // debug_server.hpp makes one that asks servers; never on a watched machine. What it answers must have the build id.
    std::function<std::optional<std::filesystem::path>(const std::string& build_id)> ask_servers;
    std::shared_ptr<DebugFolderIndex> index = make_debug_folder_index();
};

// The file with the debug information of `program`, whose build id (hexadecimal, may be empty) it must have: the program
// itself if it has DWARF, a debug file by build id, by debug link (name and CRC: beside the program, in .debug there,
// in a folder by the program's path), in a plain folder, from a server. nullopt: none.
[[nodiscard]] std::optional<std::filesystem::path> find_debug_file(const std::filesystem::path& program,
                                                                   const DebugFileSearch& search);

// The same where the program itself is not on this machine: by build id alone, in hexadecimal.
[[nodiscard]] std::optional<std::filesystem::path> find_debug_file_of(const std::string& build_id,
                                                                      const DebugFileSearch& search);

// The file that dwz took the common parts of `debug_file` out to (.gnu_debugaltlink), by its name and by build id in
// the folders above `debug_file` and /usr/lib/debug; its build id must be the one in the link. nullopt: none.
[[nodiscard]] std::optional<std::filesystem::path> find_alternate_file(const std::filesystem::path& debug_file);

}  // namespace lagtrap::binaries
