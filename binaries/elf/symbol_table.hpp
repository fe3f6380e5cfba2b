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

#include "binaries/elf/debug_files.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

struct SymbolHit {
    std::string_view name;     // demangled; lives as long as the table
    std::uint64_t offset = 0;  // from the symbol's start
};

// Function symbols of one file, from .symtab, .dynsym, .gnu_debugdata and, where there is no .symtab, its separate
// debug file (debug_files.hpp). Free to be read from any thread once made; names are demangled when they are first
// asked for.
class SymbolTable {
  public:
    static constexpr std::uint64_t default_limit_bytes = 256ULL << 20;

    // Errors as ProgramFile::open and functions(); TooLarge too where the table, or making it, takes more memory than
    // `limit_bytes`, which is checked as the file is read. A debug file that cannot be used is passed over.
    [[nodiscard]] static Result<SymbolTable> of_file(const std::filesystem::path& path,
                                                     const DebugFileSearch& search = {},
                                                     std::uint64_t limit_bytes = default_limit_bytes);
    // Of a program that is not on this machine, from its debug file alone. `load_bias` is address as linked less
    // file offset in the program, as a recording has it for its code.
    [[nodiscard]] static Result<SymbolTable> of_debug_file(const std::filesystem::path& debug_file,
                                                           std::uint64_t load_bias,
                                                           std::uint64_t limit_bytes = default_limit_bytes);
    // Kernel functions of /proc/kallsyms ("kptr_restrict" may hide them: then empty). Names are "do_fsync", "ext4_sync_file [ext4]".
    // ErrorKind::NotFound, Denied, TooLarge (more than 128 MiB).
    [[nodiscard]] static Result<SymbolTable> of_kernel(const std::filesystem::path& kallsyms = "/proc/kallsyms");

    // For files `address` is a file offset, for the kernel the address. nullopt where no function covers it
    // (a symbol without a size covers up to the next one). Of several names of one function the one that says most
    // about what the programmer called: with a size, with fewer leading underscores, exported.
    [[nodiscard]] std::optional<SymbolHit> find(std::uint64_t address) const;
    // Pieces of code that have a name.
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    // What it holds, without the names that were demangled.
    [[nodiscard]] std::uint64_t memory_bytes() const;

  private:
    struct Candidate;
    struct Builder;
    // Where a name lies.
    struct Name {
        std::uint32_t table = 0;  // of names_
        std::uint32_t offset = 0;
        std::uint32_t bytes = 0;
    };
    // A piece of code; a function that has another inside is in several pieces. Pieces do not overlap.
    struct Entry {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        std::uint64_t function_start = 0;
        Name name;
    };
    struct DemangledNames {
        std::mutex mutex;
        std::unordered_map<std::uint64_t, std::string> by_place;
    };

    SymbolTable() = default;
    void build(std::vector<Candidate> candidates);
    void add_piece(const Candidate& candidate, std::uint64_t start, std::uint64_t end);
    [[nodiscard]] std::string_view text_of(const Name& name) const;
    [[nodiscard]] std::string_view demangled(const Entry& entry) const;

    std::vector<Entry> entries_;
    std::vector<std::string> names_;  // string tables
    std::unique_ptr<DemangledNames> demangled_ = std::make_unique<DemangledNames>();
};

}  // namespace lagtrap::binaries
