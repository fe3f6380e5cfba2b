#include "trace/perfetto/call_tracks.hpp"

#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {

using protozero::pbf_writer;

std::uint64_t CallTracks::of(const CallOwner& owner, std::uint64_t at_ns) {
    const auto [known, is_new] =
        tracks_.try_emplace({owner.goroutine, owner.goroutine == 0 ? owner.tid : 0},
                            kind_.first_track + 2 * tracks_.size() + 1);
    const std::uint64_t track = known->second;
    if (!is_new) return track;
    const auto describe = [&](auto fill) {
        writer_.packet(kind_.sequence, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
            pbf_writer descriptor(packet, perfetto::trace_packet::track_descriptor);
            fill(descriptor);
        });
    };
    if (!owner.process.empty() && processes_.insert(owner.pid).second)
        describe([&](pbf_writer& descriptor) {
            descriptor.add_uint64(perfetto::track_descriptor::uuid,
                                  kind_.first_process_track + owner.pid);
            pbf_writer process(descriptor, perfetto::track_descriptor::process);
            process.add_int32(perfetto::process_descriptor::pid,
                              static_cast<std::int32_t>(owner.pid));
            process.add_string(perfetto::process_descriptor::process_name, owner.process);
        });
    if (owner.goroutine != 0) {
        describe([&](pbf_writer& descriptor) {
            descriptor.add_uint64(perfetto::track_descriptor::uuid, track);
            descriptor.add_string(perfetto::track_descriptor::name,
                                  "goroutine " + std::to_string(owner.goroutine) + ", " + name_);
            descriptor.add_uint64(perfetto::track_descriptor::parent_uuid,
                                  kind_.first_process_track + owner.pid);
        });
        return track;
    }
    describe([&](pbf_writer& descriptor) {
        descriptor.add_uint64(perfetto::track_descriptor::uuid, track - 1);
        pbf_writer thread(descriptor, perfetto::track_descriptor::thread);
        thread.add_int32(perfetto::thread_descriptor::pid, static_cast<std::int32_t>(owner.pid));
        thread.add_int64(perfetto::thread_descriptor::tid, owner.tid);
        thread.add_string(perfetto::thread_descriptor::thread_name, owner.thread);
    });
    describe([&](pbf_writer& descriptor) {
        descriptor.add_uint64(perfetto::track_descriptor::uuid, track);
        descriptor.add_string(perfetto::track_descriptor::name, name_);
        descriptor.add_uint64(perfetto::track_descriptor::parent_uuid, track - 1);
    });
    return track;
}

}  // namespace lagtrap::trace
