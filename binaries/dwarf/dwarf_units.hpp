// Checks the units of .debug_info before libdw reads them. Internal to binaries/.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lagtrap::binaries {

struct DwarfUnit {
    std::uint64_t start = 0;  // offset in .debug_info
    std::uint64_t end = 0;
    std::uint64_t first_entry = 0;
    std::uint64_t abbreviations_bytes = 0;  // upper bound for its table in .debug_abbrev
};

struct DwarfUnits {
    std::vector<DwarfUnit> units;     // ascending and contiguous from 0
    bool beyond_limits = false;       // some were left out: too many or too large
    std::uint64_t checked_bytes = 0;  // of .debug_info, from its start
};

// Returns the units (DWARF 2 to 5) up to the first that is damaged or would make libdw do
// unreasonable work: libdw reads a unit's abbreviation table up to the code it needs, again for
// each unit, and keeps what it read. Returns at most `max_units`.
[[nodiscard]] DwarfUnits read_dwarf_units(std::string_view debug_info,
                                          std::string_view debug_abbrev, std::size_t max_units,
                                          std::uint64_t max_abbreviations_bytes);

}  // namespace lagtrap::binaries
