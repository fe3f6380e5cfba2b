// Who may change what lies under a path: a program that others than root and its owner can replace is no longer the
// owner's.
#pragma once

#include <string>

namespace lagtrap {

// A sentence on the first of the file, the links to it and the folders above that somebody may write to who is neither
// root nor the file's owner: "folder /srv/app can be written by the group users". Empty: nobody, or there is no such
// file. A group without other members counts as its owner; what a sticky folder holds is protected by it. Access
// control lists count as far as the mode shows them. May wait for the file system.
[[nodiscard]] std::string other_writers(const std::string& path);

// "nobody (65534)", or the number alone where the user has no name.
[[nodiscard]] std::string user_text(unsigned user);

}  // namespace lagtrap
