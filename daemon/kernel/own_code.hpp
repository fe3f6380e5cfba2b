// Where this program's own functions lie in its file, for probing them.
#pragma once

#include <cstdint>
#include <optional>

namespace lagtrap::daemon {

// Of an address in the program itself; nullopt: it is in no part that the file holds.
[[nodiscard]] std::optional<std::uint64_t> own_file_offset(void (*function)());

}  // namespace lagtrap::daemon
