// Suggests what was meant by a function that its file does not have.
#pragma once

#include <string>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::settings {

// Names the program's library that has the function, and how to write it; empty if none has. Reads
// every library that the program needs, and those that one running process of it has loaded.
[[nodiscard]] std::string library_hint(const std::string& program, const std::string& function);

// Suggests a function of the file, in the form that the settings want: the same name in another
// namespace, anonymous ones too ("app::(anonymous namespace)::buy" for "app::buy"), or a similar
// name. Empty if none is similar.
[[nodiscard]] std::string near_function(const binaries::ProgramFile& file,
                                        const std::string& function);

}  // namespace lagtrap::settings
