// Follows a path that somebody else shaped, and asks no file system for a name before that was agreed to.
#pragma once

#include <filesystem>
#include <functional>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// What lies at `path` below the folder `root`, to be looked at alone (O_PATH). One name at a time; each folder, and what it ends
// at, is shown to `may_enter` first, whose error ends the walk. Links stay below `root`, as for who has it as its root folder;
// of those of /proc the text alone counts. An automount is not triggered. Errors: NotFound, Denied (too many links), System.
using MayEnter = std::function<Status(int place)>;
[[nodiscard]] Result<UniqueFd> walk_to(UniqueFd root, const std::filesystem::path& path, const MayEnter& may_enter);

}  // namespace lagtrap::daemon
