#include "daemon/marker_places.hpp"

#include <set>

#include "binaries/program_file.hpp"

namespace lagtrap::daemon {
namespace {

std::set<std::uint64_t> offsets_of(const settings::Marker& marker, const binaries::ProgramFile& file) {
    std::set<std::uint64_t> offsets;
    if (marker.kind == settings::MarkerKind::Function) {
        const auto functions = file.find_functions(marker.name);
        if (!functions || marker.side != settings::FunctionSide::Entry) return offsets;
        for (const binaries::Function& function : *functions) offsets.insert(function.file_offset);
        return offsets;
    }
    const auto probes = file.usdt_probes();
    if (!probes) return offsets;
    for (const binaries::UsdtProbe& probe : *probes)
        if (probe.provider == marker.provider && probe.name == marker.name)
            if (const auto offset = file.file_offset_of(probe.address)) offsets.insert(*offset);
    return offsets;
}

std::string from_hexadecimal(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    return bytes;
}

}  // namespace

std::optional<SolePlace> sole_place_of(const settings::Marker& marker) {
    if (marker.kind == settings::MarkerKind::Tracepoint) return std::nullopt;
    const auto file = binaries::ProgramFile::open(marker.binary);
    if (!file) return std::nullopt;
    const std::set<std::uint64_t> offsets = offsets_of(marker, *file);
    if (offsets.size() != 1) return std::nullopt;
    return SolePlace{marker.binary, from_hexadecimal(file->build_id()), *offsets.begin()};
}

}  // namespace lagtrap::daemon
