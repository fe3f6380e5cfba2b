// Names the frames of a recording with the files of this machine.
#pragma once

#include <filesystem>
#include <string>

#include "binaries/dwarf/source_lines.hpp"
#include "binaries/elf/debug_files.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/logs/held_roots.hpp"
#include "trace/names/naming_budget.hpp"
#include "trace/processes/modules.hpp"
#include "trace/stacks/stack_table.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

struct SymbolizerOptions {
    std::filesystem::path proc_root = "/proc";
    HeldRoots held_roots;
    std::filesystem::path kernel_notes = "/sys/kernel/notes";
    std::filesystem::path machine = machine_root();  // where the machine's files are
    std::filesystem::path vdso;                      // a file with it; empty: this process's own
    binaries::DebugFileSearch debug_files;           // servers are not asked, whatever it says
    NamingLimits limits;
    binaries::DebugInfoLimits debug_info{1ULL << 30, 128 << 20};
    bool open_programs = true;  // else only the kernel's frames and the vDSO's are named
    bool this_boot = true;      // else neither kernel nor vDSO are those of the recording
};

// Names every frame it can, finds the load bias of each module, and adds the functions inlined at each place. A file is
// used only if its build id is the mapping's (or, where none is known, if it is the very file that was mapped).
// Symbols of all modules come first, then lines of those that have DWARF, each time the most used module first, so that
// what the limits leave out is what matters least. Two files at most are open at a time; one's tables are in memory.
// Other frames keep module and offset.
[[nodiscard]] NamingQuality symbolize(StackTable& stacks, ModuleTable& modules, const SymbolizerOptions& options);

// The running kernel's build id (raw bytes) from its ELF notes; empty where it has none.
[[nodiscard]] std::string read_kernel_build_id(const std::filesystem::path& notes);

}  // namespace lagtrap::trace
