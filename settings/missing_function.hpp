// What may have been meant by a function that its file does not have.
#pragma once

#include <string>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::settings {

// The library of the program that has it, and how to write it; empty where none has. Reads every library that the program
// needs, and those that a process has loaded which runs it.
[[nodiscard]] std::string library_hint(const std::string& program, const std::string& function);

// A name of the file's, as the settings want it: the same name in another namespace, nameless ones too
// ("app::(anonymous namespace)::buy" for "app::buy"), or one that differs by a slip. Empty where none is near.
[[nodiscard]] std::string near_function(const binaries::ProgramFile& file, const std::string& function);

}  // namespace lagtrap::settings
