// Names for addresses: sorted tables, a lookup is a binary search (libdwfl's own lookup is linear in the symbols).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

struct SymbolHit {
    std::string_view name;      // demangled; lives as long as the table
    std::uint64_t offset = 0;   // from the symbol's start
};

// Function symbols of one file, from .symtab, .dynsym, .gnu_debugdata or its separate debug file by build id
// under /usr/lib/debug/.build-id (the richest). Free to be read from any thread once made.
class SymbolTable {
  public:
    [[nodiscard]] static Result<SymbolTable> of_file(const std::filesystem::path& path);
    // Kernel functions of /proc/kallsyms ("kptr_restrict" may hide them: then empty). Names are "do_fsync", "ext4_sync_file [ext4]".
    [[nodiscard]] static Result<SymbolTable> of_kernel(const std::filesystem::path& kallsyms = "/proc/kallsyms");

    // For files `address` is a file offset, for the kernel the address. nullopt where no function covers it
    // (a symbol without a size covers up to the next one).
    [[nodiscard]] std::optional<SymbolHit> find(std::uint64_t address) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        std::uint32_t name_offset = 0;
        std::uint32_t name_bytes = 0;
    };
    std::vector<Entry> entries_;
    std::string names_;
};

}  // namespace lagtrap::binaries
