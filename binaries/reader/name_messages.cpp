#include "binaries/reader/name_messages.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "binaries/reader/reader_wire.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t max_places = 200'000;
constexpr std::size_t max_frames_of_place = 4096;

}  // namespace

std::string encode_names_request(const PlaceNamesRequest& request) {
    WireWriter writer;
    writer.text(request.path.native());
    writer.items(request.offsets);
    writer.number(request.symbol_table_bytes);
    writer.number(request.read_bytes);
    writer.number(request.debug_info.file_bytes);
    writer.number(request.debug_info.memory_bytes);
    writer.number(static_cast<std::int64_t>(request.cpu_time.count()));
    return writer.take();
}

Result<PlaceNamesRequest> decode_names_request(std::string_view body) {
    WireReader reader(body);
    PlaceNamesRequest request;
    request.path = reader.text(max_text_bytes);
    request.offsets = reader.items<std::uint64_t>(max_places);
    request.symbol_table_bytes = reader.number<std::uint64_t>();
    request.read_bytes = reader.number<std::uint64_t>();
    request.debug_info.file_bytes = reader.number<std::uint64_t>();
    request.debug_info.memory_bytes = reader.number<std::uint64_t>();
    request.cpu_time = std::chrono::milliseconds(reader.number<std::int64_t>());
    if (!reader.complete()) return malformed_answer();
    return request;
}

std::string encode_names(const PlaceNames& names) {
    WireWriter writer;
    writer.number(static_cast<std::uint8_t>(names.left_out));
    writer.number(static_cast<std::uint64_t>(names.places.size()));
    for (const PlaceName& place : names.places) {
        writer.text(std::string_view(place.symbol).substr(0, max_text_bytes));
        const std::size_t count = std::min(place.frames.size(), max_frames_of_place);
        writer.number(static_cast<std::uint64_t>(count));
        for (std::size_t i = 0; i < count; ++i) {
            writer.text(std::string_view(place.frames[i].function).substr(0, max_text_bytes));
            writer.text(std::string_view(place.frames[i].file).substr(0, max_text_bytes));
            writer.number(place.frames[i].line);
        }
    }
    return writer.take();
}

Result<PlaceNames> decode_names(std::string_view body, std::size_t places) {
    WireReader reader(body);
    PlaceNames names;
    names.left_out = reader.number<std::uint8_t>() != 0;
    names.places.resize(reader.count(max_places, min_text_bytes + sizeof(std::uint64_t)));
    for (PlaceName& place : names.places) {
        place.symbol = reader.text(max_text_bytes);
        place.frames.resize(reader.count(max_frames_of_place, 2 * min_text_bytes + 4));
        for (SourceFrame& frame : place.frames) {
            frame.function = reader.text(max_text_bytes);
            frame.file = reader.text(max_text_bytes);
            frame.line = reader.number<std::uint32_t>();
        }
    }
    if (!reader.complete() || names.places.size() != places) return malformed_answer();
    return names;
}

}  // namespace lagtrap::binaries
