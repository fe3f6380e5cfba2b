// Finds the file offsets of this program's own functions, for probing them.
#pragma once

#include <cstdint>
#include <optional>

namespace lagtrap::daemon {

// nullopt if no file-backed segment of the program contains the function.
[[nodiscard]] std::optional<std::uint64_t> own_file_offset(void (*function)());

}  // namespace lagtrap::daemon
