// Looks up groups of this machine by name.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/result.hpp"

namespace lagtrap {

// Returns the id of a group (getgrnam_r(3)). ErrorKind::NotFound if the machine has no such group.
// Other errors mean that the lookup failed, for example because a directory server does not answer.
[[nodiscard]] Result<gid_t> find_group(const std::string& name);

}  // namespace lagtrap
