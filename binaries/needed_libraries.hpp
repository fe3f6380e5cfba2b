// The libraries that a program or library asks for. Used by the other files of this folder.
#pragma once

#include <string>
#include <vector>

#include "binaries/elf_image.hpp"

namespace lagtrap::binaries {

// Names as DT_NEEDED has them ("libstdc++.so.6"), of the dynamic segment; none for a static program.
// ErrorKind::Invalid where the segment is damaged, TooLarge beyond 1 MiB of entries.
[[nodiscard]] Result<std::vector<std::string>> needed_libraries(const ElfImage& image);

}  // namespace lagtrap::binaries
