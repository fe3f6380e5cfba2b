// Groups of this machine by name.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/result.hpp"

namespace lagtrap {

// The number of a group (getgrnam_r(3)). ErrorKind::NotFound if the machine has none of that name; a group that cannot be looked
// up, because a server does not answer, is another error.
[[nodiscard]] Result<gid_t> find_group(const std::string& name);

}  // namespace lagtrap
