#include "analysis/trace_packet.hpp"

#include <cstddef>

#include <protozero/pbf_reader.hpp>

#include "analysis/trace_fields.hpp"

namespace lagtrap::analysis {
namespace {

// A packet normally has one part and what it refers to.
constexpr std::size_t parts_limit = 1000;

}  // namespace

Packet split_packet(protozero::data_view message) {
    Packet packet;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        if (packet.parts.size() + packet.interned.size() >= parts_limit) {
            ++packet.parts_left_out;
            reader.skip();
            continue;
        }
        switch (reader.tag_and_type()) {
            case fields::packet::timestamp: packet.at_ns = reader.get_uint64(); break;
            case fields::packet::sequence_id: packet.sequence = reader.get_uint32(); break;
            case fields::packet::sequence_flags: packet.flags = reader.get_uint64(); break;
            case fields::packet::interned_data: packet.interned.push_back(reader.get_view()); break;
            case fields::packet::defaults: packet.defaults = reader.get_view(); break;
            case fields::packet::lagtrap_switch: packet.switching = reader.get_view(); break;
            case fields::packet::lagtrap_waking: packet.waking = reader.get_view(); break;
            case fields::packet::lagtrap_history_wait:
                packet.earlier_wait = reader.get_view();
                break;
            case fields::packet::lagtrap_wait: packet.wait = reader.get_view(); break;
            case fields::packet::ftrace_events:
            case fields::packet::lagtrap_wait_file:
            case fields::packet::lagtrap_written:
            case fields::packet::lagtrap_context:
            case fields::packet::lagtrap_disk_limit:
            case fields::packet::lagtrap_group_memory:
            case fields::packet::process_tree:
            case fields::packet::track_event:
            case fields::packet::track_descriptor:
            case fields::packet::module_symbols:
            case fields::packet::perf_sample: {
                const std::uint32_t field = reader.tag_and_type();
                packet.parts.emplace_back(field, reader.get_view());
                break;
            }
            default: reader.skip();
        }
    }
    return packet;
}

}  // namespace lagtrap::analysis
