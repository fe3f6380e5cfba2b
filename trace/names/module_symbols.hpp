// Names that are found after a recording, on another machine perhaps: ModuleSymbols packets, which Perfetto joins to the
// frames of a trace by path, build id and address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/dwarf/source_lines.hpp"

namespace lagtrap::trace {

struct PlaceSymbols {
    std::uint64_t address = 0;                     // as linked: the frames' rel_pc
    std::vector<binaries::SourceFrame> functions;  // innermost first
};

struct ModuleNames {
    std::string path;      // as the trace has it
    std::string build_id;  // hexadecimal
    std::vector<PlaceSymbols> places;
};

// Appends the names to a trace, as packets at `at_ns` (CLOCK_BOOTTIME; the time of the trace's last packet).
void append_module_symbols(std::string& trace, const ModuleNames& names, std::uint64_t at_ns);

}  // namespace lagtrap::trace
