// Where the loader finds the libraries of a program.
#pragma once

#include <filesystem>
#include <vector>

namespace lagtrap::binaries {

inline constexpr std::size_t kMostLibraries = 256;

// Paths of the libraries that the program needs, and of those that they need: nearest first, each once, kMostLibraries at
// the most. What is not found or is no ELF file of this machine is left out, as are libraries that the program loads by
// itself while it runs. The folders are those of DT_RUNPATH and DT_RPATH, of /etc/ld.so.conf and the loader's own.
[[nodiscard]] std::vector<std::filesystem::path> libraries_of(const std::filesystem::path& program);

}  // namespace lagtrap::binaries
