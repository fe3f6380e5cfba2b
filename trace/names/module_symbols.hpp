// Writes names found after a recording, possibly on another machine, as ModuleSymbols packets.
// Perfetto joins them to a trace's frames by path, build id and address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/dwarf/source_lines.hpp"

namespace lagtrap::trace {

struct PlaceSymbols {
    std::uint64_t address = 0;                     // as linked: the frame's rel_pc
    std::vector<binaries::SourceFrame> functions;  // innermost first
};

struct ModuleNames {
    std::string path;      // as in the trace
    std::string build_id;  // hexadecimal
    std::vector<PlaceSymbols> places;
};

// Appends the names to a trace as packets at `at_ns` (CLOCK_BOOTTIME; the time of the trace's last
// packet).
void append_module_symbols(std::string& trace, const ModuleNames& names, std::uint64_t at_ns);

}  // namespace lagtrap::trace
