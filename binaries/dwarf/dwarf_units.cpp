#include "binaries/dwarf/dwarf_units.hpp"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "binaries/elf/byte_cursor.hpp"

namespace lagtrap::binaries {
namespace {

// Limits for the position of a unit's first abbreviation in its table, and for its sum over all
// units.
constexpr std::uint64_t max_first_abbreviation = 256 << 10;
constexpr std::uint64_t max_abbreviations_passed = 1ULL << 30;

struct UnitHeader {
    std::uint64_t end = 0;
    std::uint64_t first_entry = 0;
    std::uint64_t abbreviations = 0;
    std::uint64_t first_code = 0;  // abbreviation code of the unit's first entry
};

// DWARF 5, 7.5.1; DWARF 4, 7.5.1.1.
std::optional<UnitHeader> read_header(std::string_view debug_info, std::uint64_t start) {
    ByteCursor cursor(debug_info, start);
    std::uint64_t length = cursor.number<std::uint32_t>();
    const bool wide = length == 0xffffffff;
    if (wide) length = cursor.number<std::uint64_t>();
    const auto offset = [&] {
        return wide ? cursor.number<std::uint64_t>() : cursor.number<std::uint32_t>();
    };
    UnitHeader header;
    if (!cursor.ok() || length > debug_info.size() - cursor.position()) return std::nullopt;
    header.end = cursor.position() + length;
    const auto version = cursor.number<std::uint16_t>();
    std::uint8_t address_bytes = 0;
    if (version >= 2 && version <= 4) {
        header.abbreviations = offset();
        address_bytes = cursor.number<std::uint8_t>();
    } else if (version == 5) {
        const auto type = cursor.number<std::uint8_t>();
        address_bytes = cursor.number<std::uint8_t>();
        header.abbreviations = offset();
        if (type == DW_UT_skeleton || type == DW_UT_split_compile || type == DW_UT_type ||
            type == DW_UT_split_type)
            (void)cursor.number<std::uint64_t>();
        if (type == DW_UT_type || type == DW_UT_split_type) (void)offset();
    }
    if (address_bytes != 8) return std::nullopt;
    header.first_entry = cursor.position();
    header.first_code = cursor.unsigned_leb128();
    if (!cursor.ok() || cursor.position() > header.end) return std::nullopt;
    return header;
}

// The size of the table up to and including this abbreviation; nullopt if it is not found within
// `limit`.
std::optional<std::uint64_t> bytes_to_abbreviation(std::string_view table, std::uint64_t code,
                                                   std::uint64_t limit) {
    ByteCursor cursor(table.substr(0, limit));
    for (;;) {
        const std::uint64_t found = cursor.unsigned_leb128();
        if (found == 0) return std::nullopt;
        (void)cursor.unsigned_leb128();
        (void)cursor.number<std::uint8_t>();
        std::uint64_t attribute = 0;
        std::uint64_t form = 0;
        do {
            attribute = cursor.unsigned_leb128();
            form = cursor.unsigned_leb128();
            if (form == DW_FORM_implicit_const) (void)cursor.signed_leb128();
        } while (cursor.ok() && (attribute != 0 || form != 0));
        if (!cursor.ok()) return std::nullopt;
        if (found == code) return cursor.position();
    }
}

}  // namespace

DwarfUnits read_dwarf_units(std::string_view debug_info, std::string_view debug_abbrev,
                            std::size_t max_units, std::uint64_t max_abbreviations_bytes) {
    DwarfUnits result;
    std::vector<std::uint64_t> tables;  // start of each unit's table
    std::uint64_t passed = 0;
    while (result.checked_bytes < debug_info.size()) {
        if (result.units.size() == max_units) {
            result.beyond_limits = true;
            break;
        }
        const auto header = read_header(debug_info, result.checked_bytes);
        if (!header || header->abbreviations > debug_abbrev.size()) break;
        if (header->first_code != 0) {
            const auto bytes = bytes_to_abbreviation(debug_abbrev.substr(header->abbreviations),
                                                     header->first_code, max_first_abbreviation);
            if (!bytes || *bytes > max_abbreviations_passed - passed) break;
            passed += *bytes;
        }
        result.units.push_back(
            DwarfUnit{result.checked_bytes, header->end, header->first_entry, 0});
        tables.push_back(header->abbreviations);
        result.checked_bytes = header->end;
    }
    std::vector<std::uint64_t> starts = tables;
    starts.push_back(debug_abbrev.size());
    std::sort(starts.begin(), starts.end());
    for (std::size_t index = 0; index < tables.size(); ++index) {
        const auto next = std::upper_bound(starts.begin(), starts.end(), tables[index]);
        const std::uint64_t end = next == starts.end() ? debug_abbrev.size() : *next;
        result.units[index].abbreviations_bytes = end - tables[index];
        if (result.units[index].abbreviations_bytes <= max_abbreviations_bytes) continue;
        result.checked_bytes = result.units[index].start;
        result.units.resize(index);
        result.beyond_limits = true;
        break;
    }
    return result;
}

}  // namespace lagtrap::binaries
