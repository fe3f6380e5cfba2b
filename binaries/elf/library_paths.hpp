// Where the loader finds the libraries of a program.
#pragma once

#include <filesystem>
#include <vector>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {

// The folders in which the loader looks for libraries, in its order: those of DT_RUNPATH and DT_RPATH, of /etc/ld.so.conf, its own.
class LibraryFolders {
  public:
    // Reads /etc/ld.so.conf.
    LibraryFolders();
    // For a file that lies in `origin`. Asks no file system.
    [[nodiscard]] std::vector<std::filesystem::path> of(const NeededLibraries& needed,
                                                        const std::filesystem::path& origin) const;

  private:
    std::vector<std::filesystem::path> usual_;
};

inline constexpr std::size_t most_libraries = 256;

// Paths of the libraries that the program needs, and of those that they need: nearest first, each once, most_libraries at
// the most. What is not found or is no ELF file of this machine is left out, as are libraries that the program loads by
// itself while it runs.
[[nodiscard]] std::vector<std::filesystem::path> libraries_of(const std::filesystem::path& program);

}  // namespace lagtrap::binaries
