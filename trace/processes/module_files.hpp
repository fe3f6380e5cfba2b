// The files that a recording's code came from, found again on this machine.
#pragma once

#include <filesystem>
#include <optional>

#include "core/unique_fd.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/logs/held_roots.hpp"
#include "trace/processes/modules.hpp"

namespace lagtrap::trace {

// An opened file that was checked: whatever is renamed or replaced meanwhile, it stays the one.
struct ModuleFile {
    UniqueFd fd;
    std::filesystem::path path;  // where it was found; debug files lie beside it

    // Opens the very file once more.
    [[nodiscard]] std::filesystem::path opened() const;
};

// The file that was mapped: known by its build id or, where the recording has none, by device and inode. Looked for
// through the processes that had it mapped (their root, their map_files and exe links, which deleted files have too, and
// the root that is held for them), then by its path below `machine`. nullopt: it is gone, or another one has taken its place.
[[nodiscard]] std::optional<ModuleFile> find_module_file(const RecordedModule& module,
                                                         const std::filesystem::path& proc_root,
                                                         const HeldRoots& held = {},
                                                         const std::filesystem::path& machine = machine_root());

inline constexpr const char* vdso_path = "[vdso]";

// The vDSO of this process, which the kernel gives to all 64-bit processes of one boot, or the one that is kept in `file`.
// nullopt: there is none.
[[nodiscard]] std::optional<ModuleFile> find_vdso(const std::filesystem::path& file = {});

}  // namespace lagtrap::trace
