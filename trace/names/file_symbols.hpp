// Functions at places of one file: from its symbols, from its DWARF, or what both together say.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "binaries/dwarf/source_lines.hpp"
#include "binaries/elf/debug_files.hpp"
#include "binaries/elf/symbol_table.hpp"
#include "core/result.hpp"
#include "trace/names/naming_budget.hpp"

namespace lagtrap::trace {

// The symbols of a program and of its debug file. ErrorKind::TooLarge where the budget has no room for them; others as
// SymbolTable::of_file.
[[nodiscard]] Result<binaries::SymbolTable> load_symbols(const std::filesystem::path& program,
                                                         const binaries::DebugFileSearch& search, NamingBudget& budget);

// The DWARF in `debug_file` of `program`, within the budget: ErrorKind::TooLarge beyond it; others as SourceLines::open.
[[nodiscard]] Result<binaries::SourceLines> load_lines(const std::filesystem::path& program,
                                                       const std::filesystem::path& debug_file,
                                                       const binaries::DebugInfoLimits& limits, NamingBudget& budget);

// Gives the outermost of `functions` (innermost first) the name that the symbols have for it, which is the one that
// others call it by (pthread_mutex_lock, where DWARF has ___pthread_mutex_lock). A piece that the compiler split off
// (foo.cold, foo.part.0) keeps its function's name. Of more than 64 functions those in the middle go.
void take_symbol(std::vector<binaries::SourceFrame>& functions, std::string_view symbol);

}  // namespace lagtrap::trace
