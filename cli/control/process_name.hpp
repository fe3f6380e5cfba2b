// Finds a process by its id or name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace lagtrap::cli {

// `text` is an id, or the name of a program or of a process as `ps -e` shows it.
// ErrorKind::NotFound if there is none; Invalid, with a list of ids, if there are several.
[[nodiscard]] Result<std::uint32_t> find_process(const std::string& text,
                                                 const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
