// Finds out who else can change a file: a program that someone other than root and its owner can
// replace is not under its owner's control.
#pragma once

#include <string>

namespace lagtrap {

// Checks the file, links to it, and the folders above. Returns a sentence about the first that
// someone other than root and the file's owner can write to, such as "folder /srv/app can be
// written by the group users". Empty if there is none, or if the file does not exist. A group
// without other members counts as the owner; a sticky folder protects its entries. Access control
// lists count only as far as the mode shows them. May block on the file system.
[[nodiscard]] std::string other_writers(const std::string& path);

// "nobody (65534)", or only the number if the user has no name.
[[nodiscard]] std::string user_text(unsigned user);

}  // namespace lagtrap
