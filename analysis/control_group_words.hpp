// What a control group's path says of who a process belongs to.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap::analysis {

// "postgresql.service", "container 3f2a4b5c6d7e (docker)", or the path itself where it is neither a unit of systemd nor a
// known kind of container. Empty for an empty path.
[[nodiscard]] std::string control_group_words(std::string_view path);

}  // namespace lagtrap::analysis
