#include "binaries/dwarf/place_names.hpp"

#include <ctime>

#include "binaries/elf/debug_files.hpp"
#include "binaries/elf/symbol_table.hpp"
#include "binaries/reader/file_reader.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::binaries {
namespace {

std::chrono::nanoseconds cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Result<PlaceNames> name_places(const UniqueFd& program, const PlaceNamesRequest& request) {
    if (FileReader* const reader = file_reader()) return reader->names(program.get(), request);
    const auto begun = cpu_time();
    const auto time_left = [&] { return cpu_time() - begun < request.cpu_time; };
    const auto opened = path_of_descriptor(program.get());
    const DebugFileSearch search;
    PlaceNames names;
    names.places.resize(request.offsets.size());
    const auto symbols = SymbolTable::of_file(opened, search, request.symbol_table_bytes);
    names.left_out = !symbols && symbols.error().kind == ErrorKind::TooLarge;
    std::optional<SourceLines> lines;
    DebugInfoLimits limits = request.debug_info;
    limits.file_bytes = std::min(limits.file_bytes, request.read_bytes);
    if (time_left())
        if (const auto debug_file = find_debug_file(request.path, search))
            if (auto found = SourceLines::open(opened, *debug_file, limits))
                lines.emplace(std::move(found).value());
    for (std::size_t i = 0; i < request.offsets.size(); ++i) {
        PlaceName& place = names.places[i];
        if (const auto hit = symbols ? symbols->find(request.offsets[i]) : std::nullopt)
            place.symbol = hit->name;
        if (lines && time_left()) place.frames = lines->frames_at(request.offsets[i]);
    }
    return names;
}

}  // namespace lagtrap::binaries
