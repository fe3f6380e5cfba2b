// Names the frames of a recording from files on this machine.
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
    std::filesystem::path machine = machine_root();  // root folder for the machine's files
    // a file that contains it; empty: use this process's own
    std::filesystem::path vdso;
    // servers are never asked, even if this enables them
    binaries::DebugFileSearch debug_files;
    NamingLimits limits;
    binaries::DebugInfoLimits debug_info{1ULL << 30, 128 << 20};
    bool open_programs = true;  // if false, only kernel and vDSO frames are named
    bool this_boot = true;      // if false, kernel and vDSO are not the recorded ones
};

// Names every frame it can, finds each module's load bias, and adds the functions inlined at each
// place. Uses a file only if its build id matches the mapping's (or, if that is unknown, if it is
// the very file that was mapped). Symbols of all modules come first, then lines of those with
// DWARF, most used modules first, so that the limits cut off what matters least. At most two files
// are open at a time, and one file's tables are in memory. Unnamed frames keep module and offset.
// Last, it marks places that wait by themselves (wait_loops.hpp).
[[nodiscard]] NamingQuality symbolize(StackTable& stacks, ModuleTable& modules,
                                      const SymbolizerOptions& options);

// Build id (raw bytes) of the running kernel, from its ELF notes; empty if it has none.
[[nodiscard]] std::string read_kernel_build_id(const std::filesystem::path& notes);

}  // namespace lagtrap::trace
