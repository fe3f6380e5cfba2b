// Finds the presets that fit the programs running and installed on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "settings/preset.hpp"

namespace lagtrap::cli {

// A process and the files whose code it has mapped, its program first, as it sees them.
struct MappedProcess {
    std::uint32_t pid = 0;
    std::string name;
    std::vector<std::string> files;
    // Link next to its program that it was started by, such as Debian's redis-server; empty if
    // none.
    std::string link;
};

// All processes that the caller may inspect, by id.
[[nodiscard]] std::vector<MappedProcess> mapped_processes(
    const std::filesystem::path& proc_root = "/proc");

// Programs and libraries with the preset's markers, as its events name them, without duplicates.
// Empty if the markers are the kernel's.
[[nodiscard]] std::vector<std::string> binaries_of(const settings::Preset& preset);

// True if the process has one of these files mapped. With `program_alone`, only its program counts.
[[nodiscard]] bool uses_one_of(const MappedProcess& process,
                               const std::vector<std::string>& binaries,
                               bool program_alone = false);

}  // namespace lagtrap::cli
