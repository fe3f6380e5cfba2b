// Finds the functions at places in one file, from its symbols and its DWARF.
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

// Symbols of a program and its debug file. ErrorKind::TooLarge if they exceed the budget; other
// errors as SymbolTable::of_file.
[[nodiscard]] Result<binaries::SymbolTable> load_symbols(const std::filesystem::path& program,
                                                         const binaries::DebugFileSearch& search,
                                                         NamingBudget& budget);

// DWARF of `program` from `debug_file`. ErrorKind::TooLarge if it exceeds the budget; other errors
// as SourceLines::open.
[[nodiscard]] Result<binaries::SourceLines> load_lines(const std::filesystem::path& program,
                                                       const std::filesystem::path& debug_file,
                                                       const binaries::DebugInfoLimits& limits,
                                                       NamingBudget& budget);

// Renames the outermost of `functions` (innermost first) to its symbol, which is the name callers
// use (pthread_mutex_lock, where DWARF has ___pthread_mutex_lock). A part that the compiler split
// off (foo.cold, foo.part.0) keeps its function's name. If there are more than 64 functions, those
// in the middle are dropped.
void take_symbol(std::vector<binaries::SourceFrame>& functions, std::string_view symbol);

}  // namespace lagtrap::trace
