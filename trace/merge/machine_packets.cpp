#include "trace/merge/machine_packets.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "core/text.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

std::int64_t hexadecimal_digits(std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text)
        if (c != '-')
            value = value << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    return static_cast<std::int64_t>(value);
}

void add_clock(pbf_writer& snapshot, std::uint32_t id, std::uint64_t at_ns) {
    pbf_writer clock(snapshot, perfetto::clock_snapshot::clocks);
    clock.add_uint32(perfetto::clock::clock_id, id);
    clock.add_uint64(perfetto::clock::timestamp, at_ns);
}

void add_attribute(pbf_writer& attributes, const char* key, std::uint64_t value) {
    pbf_writer attribute(attributes, perfetto::trace_attributes::attribute);
    attribute.add_string(perfetto::attribute::key, key);
    attribute.add_int64(perfetto::attribute::long_value, static_cast<std::int64_t>(value));
}

void add_system_info(pbf_writer& packet, const Session& session) {
    utsname names{};
    ::uname(&names);
    pbf_writer info(packet, perfetto::trace_packet::system_info);
    {
        pbf_writer kernel(info, perfetto::system_info::utsname);
        kernel.add_string(perfetto::utsname::sysname, printable(names.sysname));
        kernel.add_string(perfetto::utsname::version, printable(names.version));
        kernel.add_string(perfetto::utsname::release, printable(names.release));
        kernel.add_string(perfetto::utsname::machine, printable(names.machine));
    }
    info.add_string(perfetto::system_info::tracing_service_version,
                    "lagtrap " + printable(session.lagtrap_version));
    info.add_uint32(perfetto::system_info::page_size,
                    static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
    info.add_uint32(perfetto::system_info::num_cpus, session.cpu_count);
}

}  // namespace

void write_machine(const Session& session, PacketWriter& writer, std::uint64_t at_ns) {
    writer.packet(Sequence::Machine, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer snapshot(packet, perfetto::trace_packet::clock_snapshot);
        add_clock(snapshot, perfetto::clock::boottime, session.clocks.boottime_ns);
        snapshot.add_enum(perfetto::clock_snapshot::primary_trace_clock, perfetto::clock::boottime);
    });
    // The other clocks at the time of the snapshot. If they were in the snapshot, trace_processor
    // would convert each of them once and report that as a cache miss.
    writer.packet(Sequence::Machine, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer attributes(packet, perfetto::trace_packet::trace_attributes);
        add_attribute(attributes, "lagtrap.clock.boottime_ns", session.clocks.boottime_ns);
        add_attribute(attributes, "lagtrap.clock.monotonic_ns", session.clocks.monotonic_ns);
        add_attribute(attributes, "lagtrap.clock.realtime_ns", session.clocks.realtime_ns);
    });
    writer.packet(Sequence::Machine, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer uuid(packet, perfetto::trace_packet::trace_uuid);
        const std::string_view id = session.id;
        uuid.add_int64(perfetto::trace_uuid::msb, hexadecimal_digits(id.substr(0, 18)));
        uuid.add_int64(perfetto::trace_uuid::lsb, hexadecimal_digits(id.substr(19)));
    });
    writer.packet(Sequence::Machine, at_ns, UsesInterning::No,
                  [&](pbf_writer& packet) { add_system_info(packet, session); });
}

}  // namespace lagtrap::trace
