// Names for addresses: sorted tables, a lookup is a binary search (libdwfl's own lookup is linear in the symbols).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

struct SymbolHit {
    std::string_view name;     // demangled; lives as long as the table
    std::uint64_t offset = 0;  // from the symbol's start
};

// Function symbols of one file, from .symtab, .dynsym, .gnu_debugdata and, if there is one, its separate debug file
// by build id (/usr/lib/debug/.build-id/xx/yyyy.debug, whose build id must be the same). Free to be read from any
// thread once made; names are demangled when they are first asked for.
class SymbolTable {
  public:
    // Errors as ProgramFile::open and functions(); a separate debug file that cannot be used is passed over.
    [[nodiscard]] static Result<SymbolTable> of_file(const std::filesystem::path& path,
                                                     const std::filesystem::path& debug_root = "/usr/lib/debug");
    // Kernel functions of /proc/kallsyms ("kptr_restrict" may hide them: then empty). Names are "do_fsync", "ext4_sync_file [ext4]".
    // ErrorKind::NotFound, Denied, TooLarge (more than 128 MiB).
    [[nodiscard]] static Result<SymbolTable> of_kernel(const std::filesystem::path& kallsyms = "/proc/kallsyms");

    // For files `address` is a file offset, for the kernel the address. nullopt where no function covers it
    // (a symbol without a size covers up to the next one). Of several names of one function the one that says most
    // about what the programmer called: with a size, with fewer leading underscores, exported.
    [[nodiscard]] std::optional<SymbolHit> find(std::uint64_t address) const;
    // Pieces of code that have a name.
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

  private:
    struct Candidate;
    // A piece of code; a function that has another inside is in several pieces. Pieces do not overlap.
    struct Entry {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        std::uint64_t function_start = 0;
        std::uint32_t name_offset = 0;
        std::uint32_t name_bytes = 0;
    };
    struct DemangledNames {
        std::mutex mutex;
        std::unordered_map<std::uint32_t, std::string> by_offset;
    };

    SymbolTable() = default;
    [[nodiscard]] static SymbolTable build(std::vector<Candidate> candidates);
    void add_piece(const Candidate& candidate, std::uint64_t start, std::uint64_t end, std::uint32_t name_offset);
    [[nodiscard]] std::string_view demangled(const Entry& entry) const;

    std::vector<Entry> entries_;
    std::string names_;
    std::unique_ptr<DemangledNames> demangled_ = std::make_unique<DemangledNames>();
};

}  // namespace lagtrap::binaries
