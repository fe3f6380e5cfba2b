// Where dpkg keeps what is installed on the machine (dpkg(1), "Files"), as the machine names it: on_machine() says where this process
// finds it.
#pragma once

#include <string_view>

namespace lagtrap {

inline constexpr std::string_view dpkg_status = "/var/lib/dpkg/status";  // packages and their versions
inline constexpr std::string_view dpkg_lists = "/var/lib/dpkg/info";     // the folder of lists of files
inline constexpr std::string_view dpkg_list_suffix = ".list";            // of a list: PACKAGE[:ARCHITECTURE].list

}  // namespace lagtrap
