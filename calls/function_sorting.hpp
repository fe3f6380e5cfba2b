// Separates a process's own functions from those of the system, by their file and name. Users'
// patterns apply on top of this.
#pragma once

#include <string_view>

namespace lagtrap::calls {

// Why something belongs to the system, in the words of reports; empty if it is the application's
// own.
using SystemReason = std::string_view;

// Classifies a file mapped as code at `path` in a process that runs `program`. The application's
// own files are the program, wherever it is, libraries outside system folders, and libraries below
// the program's own folder in a system folder (/usr/lib/postgresql/15).
[[nodiscard]] SystemReason system_file_reason(std::string_view path, std::string_view program);

// Classifies a function in one of the application's own files, by symbol and readable name.
// Belonging to the system: what compiler, loader and language libraries add, and allocators.
[[nodiscard]] SystemReason system_function_reason(std::string_view symbol, std::string_view name);

}  // namespace lagtrap::calls
