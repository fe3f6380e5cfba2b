// Names the frames of a recording with the files of this machine.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "trace/modules.hpp"
#include "trace/stack_table.hpp"

namespace lagtrap::trace {

struct SymbolizerOptions {
    std::filesystem::path proc_root = "/proc";
    std::filesystem::path kernel_notes = "/sys/kernel/notes";
    std::size_t table_limit_bytes = 96 << 20;  // a file with larger tables of symbols is left unnamed
};

// Names every frame it can, and finds the load bias of each module. A file is used only if its build id is the
// mapping's (or, where none is known, if it is the very file that was mapped). One file's symbols are in memory
// at a time. Frames of other files keep module and offset.
void symbolize(StackTable& stacks, ModuleTable& modules, const SymbolizerOptions& options);

// The running kernel's build id (raw bytes) from its ELF notes; empty where it has none.
[[nodiscard]] std::string read_kernel_build_id(const std::filesystem::path& notes);

}  // namespace lagtrap::trace
