// The units of .debug_info, looked at before libdw gets to see them. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lagtrap::binaries {

struct DwarfUnit {
    std::uint64_t start = 0;  // in .debug_info
    std::uint64_t end = 0;
    std::uint64_t first_entry = 0;
    std::uint64_t abbreviations_bytes = 0;  // of its table in .debug_abbrev, at most
};

struct DwarfUnits {
    std::vector<DwarfUnit> units;     // ascending, one after the other from 0
    bool beyond_limits = false;       // there are more, too many or too large ones
    std::uint64_t checked_bytes = 0;  // of .debug_info, from its start
};

// The units (DWARF 2 to 5) up to the first that is damaged, or whose demands on libdw are out of all proportion: libdw
// reads a unit's table of abbreviations up to the code it looks for, for each unit again, and keeps what it read. At most
// `max_units`.
[[nodiscard]] DwarfUnits read_dwarf_units(std::string_view debug_info, std::string_view debug_abbrev,
                                          std::size_t max_units, std::uint64_t max_abbreviations_bytes);

}  // namespace lagtrap::binaries
