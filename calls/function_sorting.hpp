// Which functions of a process are the application's own, and which the system's: by the file that has them, and by
// their names. Patterns of people come after it.
#pragma once

#include <string_view>

namespace lagtrap::calls {

// Why it is the system's, in the words of reports; empty: the application's own.
using SystemReason = std::string_view;

// A file mapped as code at `path`, of a process whose program is `program`. The program is the application's own wherever it
// lies, and so are libraries outside of the folders of the system, and in them those below the program's own folder there
// (/usr/lib/postgresql/15).
[[nodiscard]] SystemReason system_file_reason(std::string_view path, std::string_view program);

// A function of one of the application's files, by its symbol and by the name that people write: what the compiler, the
// loader and the libraries of languages put there, and allocators.
[[nodiscard]] SystemReason system_function_reason(std::string_view symbol, std::string_view name);

}  // namespace lagtrap::calls
