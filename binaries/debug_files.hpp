// Where the symbols and the DWARF of a stripped program are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lagtrap::binaries {

struct DebugFileSearch {
    // Folders laid out as /usr/lib/debug is (.build-id/xx/yyyy.debug, and by path), or plain folders of debug files.
    std::vector<std::filesystem::path> folders{"/usr/lib/debug"};
    // Ask the servers of $DEBUGINFOD_URLS by libdebuginfod (downloads into its cache). Never on a watched machine.
    bool ask_servers = false;
};

// The file with the debug information of `program`, whose build id (hexadecimal, may be empty) it must have: the program
// itself if it has DWARF, a debug file by build id, by debug link (name and CRC), from a server. nullopt: none.
[[nodiscard]] std::optional<std::filesystem::path> find_debug_file(const std::filesystem::path& program,
                                                                   const DebugFileSearch& search);

// The same where the program itself is not on this machine: by build id alone, in hexadecimal.
[[nodiscard]] std::optional<std::filesystem::path> find_debug_file_of(const std::string& build_id,
                                                                      const DebugFileSearch& search);

}  // namespace lagtrap::binaries
