// The libraries that a program or library asks for. Used by the other files of this folder.
#pragma once

#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {

// Of the dynamic segment; nothing for a static program. ErrorKind::Invalid where the segment is damaged, TooLarge beyond
// 1 MiB of entries.
[[nodiscard]] Result<NeededLibraries> needed_libraries(const ElfImage& image);

}  // namespace lagtrap::binaries
