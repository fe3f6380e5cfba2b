// Which presets fit what runs and is installed on this machine.
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
    // The link beside its program that it was started by: Debian's redis-server is such a one. Empty: none.
    std::string link;
};

// All processes that the caller may look at, by number.
[[nodiscard]] std::vector<MappedProcess> mapped_processes(const std::filesystem::path& proc_root = "/proc");

// Programs and libraries that hold the preset's markers, as its events name them, each once; none where they are the kernel's.
[[nodiscard]] std::vector<std::string> binaries_of(const settings::Preset& preset);

// Whether the process has one of these files mapped; only its program counts where `program_alone`.
[[nodiscard]] bool uses_one_of(const MappedProcess& process, const std::vector<std::string>& binaries,
                               bool program_alone = false);

}  // namespace lagtrap::cli
