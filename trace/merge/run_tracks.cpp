#include "trace/merge/run_tracks.hpp"

#include <string>

#include "core/text.hpp"
#include "trace/perfetto/event_parts.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {

using protozero::pbf_writer;

template <typename Fill>
void RunTracks::describe(std::uint64_t at_ns, Fill fill) {
    writer_.packet(Sequence::Runs, at_ns + boottime_offset_ns_, UsesInterning::No,
                   [&](pbf_writer& packet) {
                       pbf_writer track(packet, perfetto::trace_packet::track_descriptor);
                       fill(track);
                   });
}

std::uint64_t RunTracks::of_process(const lagtrap_run& run) {
    const ThreadState& leader = threads_.at(run.begin_pid, run.begin_pid, run.begin_ns);
    std::uint64_t& track = process_tracks_[{run.begin_pid, leader.generation}];
    if (track == 0) {
        track = ++tracks_;
        describe(run.begin_ns, [&](pbf_writer& descriptor) {
            descriptor.add_uint64(perfetto::track_descriptor::uuid, track);
            pbf_writer process(descriptor, perfetto::track_descriptor::process);
            process.add_int32(perfetto::process_descriptor::pid,
                              static_cast<std::int32_t>(run.begin_pid));
            const std::string name = threads_.process_name(run.begin_pid, run.begin_ns);
            if (!name.empty()) process.add_string(perfetto::process_descriptor::process_name, name);
        });
    }
    return track;
}

ThreadTrack& RunTracks::of_thread(const lagtrap_run& run) {
    const ThreadState& thread = threads_.at(run.begin_tid, run.begin_pid, run.begin_ns);
    ThreadTrack& track = thread_tracks_[{run.begin_tid, thread.generation}];
    if (track.uuid == 0) {
        track.uuid = ++tracks_;
        track_threads_[track.uuid] = {run.begin_tid, thread.generation};
        describe(run.begin_ns, [&](pbf_writer& descriptor) {
            descriptor.add_uint64(perfetto::track_descriptor::uuid, track.uuid);
            pbf_writer part(descriptor, perfetto::track_descriptor::thread);
            part.add_int32(perfetto::thread_descriptor::pid,
                           static_cast<std::int32_t>(run.begin_pid));
            part.add_int64(perfetto::thread_descriptor::tid, run.begin_tid);
            const std::string name = thread.name.empty() ? comm_text(run.comm) : thread.name;
            if (!name.empty()) part.add_string(perfetto::thread_descriptor::thread_name, name);
        });
    }
    return track;
}

std::uint64_t RunTracks::below_process(const lagtrap_run& run, std::uint64_t end_ns) {
    const std::uint64_t parent = of_process(run);
    auto& lanes = lanes_[{parent, run.event}];
    std::uint64_t track = 0;
    if (!lanes.empty() && lanes.top().free_ns <= run.begin_ns) {
        track = lanes.top().track;
        lanes.pop();
    } else {
        track = ++tracks_;
        describe(run.begin_ns, [&](pbf_writer& descriptor) {
            descriptor.add_uint64(perfetto::track_descriptor::uuid, track);
            descriptor.add_uint64(perfetto::track_descriptor::parent_uuid, parent);
            descriptor.add_string(perfetto::track_descriptor::name,
                                  printable(session_.events[run.event].name));
        });
    }
    lanes.push({end_ns, track});
    return track;
}

void RunTracks::close(std::uint64_t track, std::uint64_t run_id) {
    if (const auto thread = track_threads_.find(track); thread != track_threads_.end())
        std::erase(thread_tracks_.at(thread->second).open, run_id);
}

}  // namespace lagtrap::trace
