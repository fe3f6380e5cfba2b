// One file's DWARF, given to libdw with bounds around it. Used by the other files of this folder.
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

// libdw sees an ELF file in memory that has nothing but the sections that are needed, unpacked, and .debug_info only
// as far as its units were found sound; it opens no files of its own. What it keeps of a unit it keeps until it is closed:
// touch() counts, and forget() closes.
class DwarfFile {
  public:
    struct Limits {
        std::uint64_t file_bytes = 0;
        std::uint64_t memory_bytes = 0;
    };

    // ErrorKind::NotFound: no .debug_info; else as MappedSections::open; TooLarge: too many units.
    [[nodiscard]] static Result<DwarfFile> open(const std::filesystem::path& path, const Limits& limits);
    DwarfFile(DwarfFile&&) noexcept = default;
    DwarfFile& operator=(DwarfFile&&) noexcept = default;
    ~DwarfFile() = default;

    // nullptr: libdw does not take it. DIEs and units are good until forget(). The first call after that opens anew, with
    // `alternate` as dwz's common file (may be nullptr), whose own Dwarf must live as long.
    [[nodiscard]] Dwarf* dwarf(Dwarf* alternate);
    // Closes libdw's view with all that it remembers.
    void forget();
    // Lets go of the pages that were read; what libdw gave out stays good.
    void release_pages() const { sections_.release_pages(); }

    [[nodiscard]] const std::vector<DwarfUnit>& units() const { return units_.units; }
    // Which unit has this offset of .debug_info; nullopt: none of the sound ones.
    [[nodiscard]] std::optional<std::size_t> unit_at(std::uint64_t offset) const;
    // To be called before libdw looks into a unit. False: no more of that, the file asks for too much.
    [[nodiscard]] bool touch(std::size_t unit);
    // What libdw holds of touched units by now, at most.
    [[nodiscard]] std::uint64_t held_bytes() const { return held_bytes_; }

    [[nodiscard]] std::string_view section(std::string_view name) const { return sections_.section(name); }
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
