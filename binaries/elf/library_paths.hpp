// Finds a program's libraries as the loader does.
#pragma once

#include <filesystem>
#include <vector>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {

// The folders in which the loader looks for libraries, in its order: DT_RUNPATH and DT_RPATH,
// /etc/ld.so.conf, the defaults.
class LibraryFolders {
  public:
    // Reads /etc/ld.so.conf.
    LibraryFolders();
    // For a file in folder `origin`. Does not access the file system.
    [[nodiscard]] std::vector<std::filesystem::path> of(const NeededLibraries& needed,
                                                        const std::filesystem::path& origin) const;

  private:
    std::vector<std::filesystem::path> usual_;
};

inline constexpr std::size_t max_libraries = 256;

// Paths of the libraries that the program needs, directly or indirectly: nearest first, each once,
// at most max_libraries. Omits those that are not found, are not ELF files for this machine, or
// are loaded at run time.
[[nodiscard]] std::vector<std::filesystem::path> libraries_of(const std::filesystem::path& program);

}  // namespace lagtrap::binaries
