// Gives one file's DWARF to libdw within limits. Internal to binaries/.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "binaries/dwarf/dwarf_units.hpp"
#include "binaries/elf/mapped_sections.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// libdw sees an ELF file in memory that has only the required sections, unpacked, and of
// .debug_info only the units found sound. It opens no files itself. libdw keeps what it reads of a
// unit until it is closed; touch() counts that, and forget() closes it.
class DwarfFile {
  public:
    struct Limits {
        std::uint64_t file_bytes = 0;
        std::uint64_t memory_bytes = 0;
    };

    // ErrorKind::NotFound if there is no .debug_info, TooLarge if there are too many units;
    // otherwise as MappedSections::open.
    [[nodiscard]] static Result<DwarfFile> open(const std::filesystem::path& path,
                                                const Limits& limits);
    DwarfFile(DwarfFile&&) noexcept = default;
    DwarfFile& operator=(DwarfFile&&) noexcept = default;
    ~DwarfFile() = default;

    // nullptr if libdw refuses the file. DIEs and units are valid until forget(). The next call
    // after that opens it again, with `alternate` as dwz's common file (may be nullptr), whose
    // Dwarf must live as long.
    [[nodiscard]] Dwarf* dwarf(Dwarf* alternate);
    // Closes libdw's view and frees all that it keeps.
    void forget();
    // Releases the pages read so far; what libdw returned stays valid.
    void release_pages() const { sections_.release_pages(); }

    [[nodiscard]] const std::vector<DwarfUnit>& units() const { return units_.units; }
    // The unit at this offset of .debug_info; nullopt if it is not in a sound unit.
    [[nodiscard]] std::optional<std::size_t> unit_at(std::uint64_t offset) const;
    // Call before libdw reads a unit. False if it must not, because the file has used up its
    // limits.
    [[nodiscard]] bool touch(std::size_t unit);
    // An upper bound of what libdw holds for touched units.
    [[nodiscard]] std::uint64_t held_bytes() const { return held_bytes_; }

    [[nodiscard]] std::string_view section(std::string_view name) const {
        return sections_.section(name);
    }
    [[nodiscard]] std::uint64_t unpacked_bytes() const { return sections_.unpacked_bytes(); }
    [[nodiscard]] bool file_was_cut() const { return sections_.file_was_cut(); }

  private:
    explicit DwarfFile(MappedSections sections) : sections_(std::move(sections)) {}
    void write_header();

    struct EndElf {
        void operator()(Elf* elf) const { ::elf_end(elf); }
    };
    struct EndDwarf {
        void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
    };

    MappedSections sections_;
    DwarfUnits units_;
    std::vector<bool> touched_;
    std::uint64_t held_bytes_ = 0;
    std::uint64_t abbreviations_left_ = 0;
    std::unique_ptr<Elf, EndElf> elf_;
    std::unique_ptr<Dwarf, EndDwarf> dwarf_;
};

}  // namespace lagtrap::binaries
