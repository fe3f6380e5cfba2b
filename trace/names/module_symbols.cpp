#include "trace/names/module_symbols.hpp"

#include <algorithm>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "core/text.hpp"
#include "trace/perfetto/packet_writer.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t places_of_packet = 10'000;
constexpr std::size_t text_limit_bytes = 4096;

std::string raw_bytes(std::string_view hexadecimal) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
        bytes += static_cast<char>(digit(hexadecimal[i]) << 4 | digit(hexadecimal[i + 1]));
    return bytes;
}

std::string text_of(std::string_view raw) { return printable(raw.substr(0, text_limit_bytes)); }

void add_place(protozero::pbf_writer& message, const PlaceSymbols& place) {
    protozero::pbf_writer address(message, perfetto::module_symbols::address_symbols);
    address.add_uint64(perfetto::address_symbols::address, place.address);
    for (const binaries::SourceFrame& function : place.functions) {
        protozero::pbf_writer line(address, perfetto::address_symbols::lines);
        line.add_string(perfetto::symbol_line::function_name, text_of(function.function));
        if (function.file.empty()) continue;
        line.add_string(perfetto::symbol_line::source_file_name, text_of(function.file));
        if (function.line != 0) line.add_uint32(perfetto::symbol_line::line_number, function.line);
    }
}

}  // namespace

void append_module_symbols(std::string& trace, const ModuleNames& names, std::uint64_t at_ns) {
    const std::string build_id = raw_bytes(names.build_id);
    for (std::size_t begin = 0; begin < names.places.size(); begin += places_of_packet) {
        protozero::pbf_writer root(trace);
        protozero::pbf_writer packet(root, perfetto::trace_file::packet);
        packet.add_uint64(perfetto::trace_packet::timestamp, at_ns);
        packet.add_uint32(perfetto::trace_packet::trusted_packet_sequence_id,
                          static_cast<std::uint32_t>(Sequence::Machine));
        protozero::pbf_writer message(packet, perfetto::trace_packet::module_symbols);
        message.add_string(perfetto::module_symbols::path, names.path);
        message.add_bytes(perfetto::module_symbols::build_id, build_id);
        const std::size_t end = std::min(names.places.size(), begin + places_of_packet);
        for (std::size_t i = begin; i < end; ++i) add_place(message, names.places[i]);
    }
}

}  // namespace lagtrap::trace
