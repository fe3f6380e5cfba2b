// Reads which libraries a program or library requires. Internal to binaries/.
#pragma once

#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {

// Reads the dynamic segment; empty for a static program. ErrorKind::Invalid if the segment is
// damaged, TooLarge for more than 1 MiB of entries.
[[nodiscard]] Result<NeededLibraries> needed_libraries(const ElfImage& image);

}  // namespace lagtrap::binaries
