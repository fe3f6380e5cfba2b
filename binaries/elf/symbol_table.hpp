// Finds names for addresses by binary search in sorted tables (libdwfl's lookup is linear in the
// number of symbols).
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
    std::string_view name;     // demangled; valid as long as the table
    std::uint64_t offset = 0;  // from the symbol's start
};

// Function symbols of one file, from .symtab, .dynsym, .gnu_debugdata and, if there is no .symtab,
// from its separate debug file (debug_files.hpp). Thread-safe once created; demangles names on
// first use.
class SymbolTable {
  public:
    static constexpr std::uint64_t default_limit_bytes = 256ULL << 20;

    // Errors as ProgramFile::open and functions(). TooLarge also if the table, or creating it,
    // takes more memory than `limit_bytes`, which is checked during reading. Ignores unusable debug
    // files.
    [[nodiscard]] static Result<SymbolTable> of_file(
        const std::filesystem::path& path, const DebugFileSearch& search = {},
        std::uint64_t limit_bytes = default_limit_bytes);
    // For a program that is not on this machine, from its debug file. `load_bias` is the address as
    // linked minus the file offset in the program, as recordings store it for the program's code.
    [[nodiscard]] static Result<SymbolTable> of_debug_file(
        const std::filesystem::path& debug_file, std::uint64_t load_bias,
        std::uint64_t limit_bytes = default_limit_bytes);
    // Kernel functions from /proc/kallsyms; empty if "kptr_restrict" hides them. Names are like
    // "do_fsync" or "ext4_sync_file [ext4]". ErrorKind::NotFound, Denied, TooLarge (more than 128
    // MiB).
    [[nodiscard]] static Result<SymbolTable> of_kernel(
        const std::filesystem::path& kallsyms = "/proc/kallsyms");

    // `address` is a file offset for files, an address for the kernel. nullopt if no function
    // covers it (a symbol without a size extends to the next one). If a function has several names,
    // prefers one with a size, fewer leading underscores, and exported.
    [[nodiscard]] std::optional<SymbolHit> find(std::uint64_t address) const;
    // The number of named pieces of code.
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    // Memory used, without demangled names.
    [[nodiscard]] std::uint64_t memory_bytes() const;

  private:
    struct Candidate;
    struct Builder;
    // The position of a name.
    struct Name {
        std::uint32_t table = 0;  // index into names_
        std::uint32_t offset = 0;
        std::uint32_t bytes = 0;
    };
    // A piece of code. A function that contains another one has several pieces. Pieces do not
    // overlap.
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
