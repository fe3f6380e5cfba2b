// Follows a path that an untrusted user may have shaped, and approves each file system before it is
// asked for a name.
#pragma once

#include <filesystem>
#include <functional>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// Opens `path` below the folder `root` with O_PATH, one name at a time. Passes each folder and the
// result to `may_enter` first, whose error ends the walk. Symlinks stay below `root`, as for a
// process with this root folder. Magic links of /proc are followed by their text only. Automounts
// are not triggered. Errors: NotFound, Denied (too many links), System.
using MayEnter = std::function<Status(int place)>;
[[nodiscard]] Result<UniqueFd> walk_to(UniqueFd root, const std::filesystem::path& path,
                                       const MayEnter& may_enter);

}  // namespace lagtrap::daemon
