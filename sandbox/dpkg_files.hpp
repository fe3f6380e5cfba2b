// Where dpkg keeps its database (dpkg(1), "Files"). These are the machine's paths; on_machine()
// translates them for this process.
#pragma once

#include <string_view>

namespace lagtrap {

// installed packages and their versions
inline constexpr std::string_view dpkg_status = "/var/lib/dpkg/status";
inline constexpr std::string_view dpkg_lists = "/var/lib/dpkg/info";  // the folder of file lists
// lists are named PACKAGE[:ARCHITECTURE].list
inline constexpr std::string_view dpkg_list_suffix = ".list";

}  // namespace lagtrap
