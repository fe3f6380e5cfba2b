// One unit of debug information (DWARF 4), built entry by entry.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "binaries/dwarf/dwarf_file.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test {

class MadeDwarf {
  public:
    struct Attribute {
        unsigned name = 0;
        unsigned form = 0;
        std::string bytes;
    };
    static Attribute text(unsigned name, const std::string& value) {
        return {name, DW_FORM_string, value + '\0'};
    }
    static Attribute number(unsigned name, std::uint64_t value) {
        return {name, DW_FORM_data8, Bytes().u64(value)};
    }
    // The entry at this offset.
    static Attribute reference(unsigned name, std::uint64_t offset) {
        return {name, DW_FORM_ref4, Bytes().u32(offset)};
    }
    static std::vector<Attribute> code(std::uint64_t low, std::uint64_t size) {
        return {{DW_AT_low_pc, DW_FORM_addr, Bytes().u64(low)}, number(DW_AT_high_pc, size)};
    }

    // The unit's own entry, and everything after it is within it.
    explicit MadeDwarf(unsigned language = DW_LANG_C_plus_plus) {
        std::vector<Attribute> attributes{text(DW_AT_name, "made.cpp")};
        if (language != 0) attributes.push_back(number(DW_AT_language, language));
        open(DW_TAG_compile_unit, attributes);
    }
    // Adds an entry that contains those up to close(); returns its offset.
    std::uint64_t open(unsigned tag, const std::vector<Attribute>& attributes) {
        return entry(tag, attributes, true);
    }
    std::uint64_t add(unsigned tag, const std::vector<Attribute>& attributes) {
        return entry(tag, attributes, false);
    }
    void close() { entries_.u8(0); }
    // The offset of the next entry.
    [[nodiscard]] std::uint64_t next() const { return header_bytes + entries_.size(); }

    // Writes the file; nothing may be added after.
    Result<DwarfFile> file(const DwarfFile::Limits& limits = {1 << 20, 1 << 20}) {
        close();
        Bytes info;
        info.u32(header_bytes - 4 + entries_.size()).u16(4).u32(0).u8(8).raw(entries_);
        TestFile made;
        made.sections = {{".debug_info", info.text()},
                         {".debug_abbrev", Bytes().raw(abbreviations_).u8(0).text()}};
        const auto path = folder_.path() / "made";
        write(path, made.bytes());
        return DwarfFile::open(path, limits);
    }

  private:
    static constexpr std::uint64_t header_bytes = 11;

    std::uint64_t entry(unsigned tag, const std::vector<Attribute>& attributes, bool has_children) {
        const std::uint64_t offset = next();
        abbreviations_.uleb(++codes_).uleb(tag).u8(has_children ? 1 : 0);
        entries_.uleb(codes_);
        for (const Attribute& attribute : attributes) {
            abbreviations_.uleb(attribute.name).uleb(attribute.form);
            entries_.raw(attribute.bytes);
        }
        abbreviations_.uleb(0).uleb(0);
        return offset;
    }

    TemporaryFolder folder_;
    Bytes entries_, abbreviations_;
    std::uint64_t codes_ = 0;
};

// The entry at an offset of the file's only unit.
inline Dwarf_Die entry_at(DwarfFile& file, std::uint64_t offset) {
    Dwarf_Die entry{};
    ::dwarf_offdie(file.dwarf(nullptr), offset, &entry);
    return entry;
}

inline const unsigned char* end_of_unit(const DwarfFile& file) {
    return reinterpret_cast<const unsigned char*>(file.section(".debug_info").data()) +
           file.units().front().end;
}

}  // namespace lagtrap::binaries::test
