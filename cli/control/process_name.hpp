// A process that somebody named by its number or by its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace lagtrap::cli {

// `text`: a number, or the name of a program or of a process as `ps -e` shows it. NotFound: nobody has it; Invalid: several
// have, with the numbers to choose from.
[[nodiscard]] Result<std::uint32_t> find_process(const std::string& text,
                                                 const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
