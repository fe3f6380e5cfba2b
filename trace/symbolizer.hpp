// Names the frames of a recording with the files of this machine.
#pragma once

#include <cstddef>
#include <filesystem>

#include "trace/modules.hpp"
#include "trace/stack_table.hpp"

namespace lagtrap::trace {

struct SymbolizerOptions {
    std::filesystem::path proc_root = "/proc";
    std::size_t table_limit_bytes = 96 << 20;  // a file with larger tables of symbols is left unnamed
};

// Names every frame it can, and finds the load bias of each module. A file is used only if its build id is the
// mapping's (or, where none is known, if it is the very file that was mapped). One file's symbols are in memory
// at a time. Frames of other files keep module and offset.
void symbolize(StackTable& stacks, ModuleTable& modules, const SymbolizerOptions& options);

}  // namespace lagtrap::trace
