#pragma once

#include <filesystem>

#include "core/result.hpp"

namespace lagtrap::daemon {

// Moves the folder of a recording, also into another file system; that may take as long as the disk
// needs. If it fails, `to` is not left. If the daemon ends meanwhile, the next one removes what
// was copied.
[[nodiscard]] Status move_capture(const std::filesystem::path& from,
                                  const std::filesystem::path& to);

}  // namespace lagtrap::daemon
