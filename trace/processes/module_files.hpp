// Finds the files of a recording's code again on this machine.
#pragma once

#include <filesystem>
#include <optional>

#include "core/unique_fd.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/logs/held_roots.hpp"
#include "trace/processes/modules.hpp"

namespace lagtrap::trace {

// An open file that was verified. It stays the same file even if its path is renamed or replaced.
struct ModuleFile {
    UniqueFd fd;
    std::filesystem::path path;  // where it was found, to look for debug files next to it

    // Path that opens this very file again.
    [[nodiscard]] std::filesystem::path opened() const;
};

// Finds the file that was mapped, identified by its build id or, if the recording has none, by
// device and inode. Looks through the processes that had it mapped (their root, their map_files and
// exe links, which work for deleted files too, and their held root), then at its path below
// `machine`. nullopt if the file is gone or was replaced.
[[nodiscard]] std::optional<ModuleFile> find_module_file(
    const RecordedModule& module, const std::filesystem::path& proc_root,
    const HeldRoots& held = {}, const std::filesystem::path& machine = machine_root());

inline constexpr const char* vdso_path = "[vdso]";

// The vDSO: the one stored in `file`, or this process's own, which is the same for all 64-bit
// processes of a boot. nullopt if there is none.
[[nodiscard]] std::optional<ModuleFile> find_vdso(const std::filesystem::path& file = {});

}  // namespace lagtrap::trace
