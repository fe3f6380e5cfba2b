#include "trace/merge/run_writer.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/text.hpp"
#include "trace/perfetto/event_parts.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

// Interned numbers of the runs' sequence. All are known beforehand and are defined in its first
// packet.
enum Category : std::uint64_t { run_category = 1, delay_category, stage_category };
constexpr std::array category_names{"lagtrap.run", "lagtrap.delay", "lagtrap.stage"};

enum Annotation : std::uint64_t {
    run_id = 1,
    event_name,
    threshold_ns,
    duration_ns,
    queued_ns,
    key,
    depth,
    begin_pid,
    begin_tid,
    end_pid,
    end_tid,
    is_delay,
    is_open,
    is_abandoned,
    reported_at_deadline,
    is_first,
    stage_tid,
    earlier_begin,
    goroutine,
    is_in_go,
    without_stages,
};
constexpr std::array annotation_names{
    "run",           "event",     "threshold_ns",  "duration_ns", "queued_ns",
    "key",           "depth",     "begin_pid",     "begin_tid",   "end_pid",
    "end_tid",       "delay",     "open",          "abandoned",   "reported_at_deadline",
    "first",         "stage_tid", "earlier_begin", "goroutine",   "in_go",
    "without_stages"};

void annotate_flag(pbf_writer& event, Annotation name, bool value) {
    pbf_writer annotation(event, perfetto::track_event::debug_annotations);
    annotation.add_uint64(perfetto::debug_annotation::name_iid, name);
    annotation.add_bool(perfetto::debug_annotation::bool_value, value);
}

void annotate_text(pbf_writer& event, Annotation name, const std::string& value) {
    pbf_writer annotation(event, perfetto::track_event::debug_annotations);
    annotation.add_uint64(perfetto::debug_annotation::name_iid, name);
    annotation.add_string(perfetto::debug_annotation::string_value, value);
}

bool is_of_goroutine(const lagtrap_run& run) { return (run.flags & LAGTRAP_RUN_OF_GOROUTINE) != 0; }

// The hits in time order, clamped to the run.
std::vector<lagtrap_stage_hit> stages_of(const lagtrap_run& run, std::uint64_t end_ns,
                                         std::size_t known_stages) {
    std::vector<lagtrap_stage_hit> stages;
    for (std::size_t i = 0; i < run.stage_count; ++i) {
        lagtrap_stage_hit stage = run.stages[i];
        if (stage.stage >= known_stages) continue;
        stage.at_ns = std::clamp<std::uint64_t>(stage.at_ns, run.begin_ns, end_ns);
        stages.push_back(stage);
    }
    std::stable_sort(stages.begin(), stages.end(),
                     [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
    return stages;
}

}  // namespace

RunWriter::RunWriter(const Session& session, ThreadTable& threads, PacketWriter& writer,
                     std::uint64_t boottime_offset_ns)
    : session_(session),
      writer_(writer),
      boottime_offset_ns_(boottime_offset_ns),
      tracks_(session, threads, writer, boottime_offset_ns) {
    auto next = static_cast<std::uint32_t>(session.events.size() + 1);
    for (const SessionEvent& known : session.events) {
        first_stage_name_.push_back(next);
        next += static_cast<std::uint32_t>(known.stages.size());
    }
}

template <typename Fill>
void RunWriter::event(std::uint64_t at_ns, Fill fill) {
    writer_.packet(
        Sequence::Runs, at_ns + boottime_offset_ns_, UsesInterning::Yes, [&](pbf_writer& packet) {
            if (!std::exchange(names_defined_, true)) {
                pbf_writer interned(packet, perfetto::trace_packet::interned_data);
                for (std::size_t i = 0; i < category_names.size(); ++i)
                    perfetto::add_interned(interned, perfetto::interned_data::event_categories,
                                           i + 1, category_names[i]);
                for (std::size_t i = 0; i < annotation_names.size(); ++i)
                    perfetto::add_interned(interned,
                                           perfetto::interned_data::debug_annotation_names, i + 1,
                                           annotation_names[i]);
                for (std::size_t i = 0; i < session_.events.size(); ++i) {
                    const SessionEvent& known = session_.events[i];
                    perfetto::add_interned(interned, perfetto::interned_data::event_names, i + 1,
                                           printable(known.name));
                    for (std::size_t j = 0; j < known.stages.size(); ++j)
                        perfetto::add_interned(interned, perfetto::interned_data::event_names,
                                               first_stage_name_[i] + j,
                                               printable(known.stages[j]));
                }
            }
            pbf_writer track_event(packet, perfetto::trace_packet::track_event);
            fill(track_event);
        });
}

std::uint64_t RunWriter::track_for(const lagtrap_run& run, std::uint64_t end_ns, std::uint64_t id) {
    const bool ended_elsewhere =
        (run.flags & LAGTRAP_RUN_OPEN) == 0 && run.end_tid != 0 && run.end_tid != run.begin_tid;
    if (ended_elsewhere || (run.flags & LAGTRAP_RUN_IN_GO) != 0)
        return tracks_.below_process(run, end_ns);
    ThreadTrack& track = tracks_.of_thread(run);
    if (!track.open.empty() && open_.at(track.open.back()).next_boundary_ns() < end_ns)
        return tracks_.below_process(run, end_ns);
    track.open.push_back(id);
    return track.uuid;
}

void RunWriter::begin_slice(const OpenRun& open, const lagtrap_run& run, const RunFacts& facts) {
    const SessionEvent& known = session_.events[run.event];
    event(run.begin_ns, [&](pbf_writer& slice) {
        slice.add_uint64(perfetto::track_event::category_iids,
                         facts.delay ? delay_category : run_category);
        slice.add_enum(perfetto::track_event::type, perfetto::track_event::slice_begin);
        slice.add_uint64(perfetto::track_event::name_iid, run.event + 1);
        slice.add_uint64(perfetto::track_event::track_uuid, open.track);
        perfetto::annotate(slice, run_id, facts.id);
        annotate_text(slice, event_name, printable(known.name));
        perfetto::annotate(slice, threshold_ns, known.threshold_ns);
        perfetto::annotate(slice, duration_ns, facts.duration_ns);
        perfetto::annotate(slice, queued_ns, facts.queued_ns);
        const bool of_goroutine = is_of_goroutine(run);
        perfetto::annotate(slice, key, of_goroutine ? 0 : run.key);
        if (of_goroutine) perfetto::annotate(slice, goroutine, run.key);
        perfetto::annotate(slice, depth, run.depth);
        perfetto::annotate(slice, begin_pid, run.begin_pid);
        perfetto::annotate(slice, begin_tid, run.begin_tid);
        perfetto::annotate(slice, end_pid, run.end_pid);
        perfetto::annotate(slice, end_tid, run.end_tid);
        annotate_flag(slice, is_delay, facts.delay);
        annotate_flag(slice, is_open, (run.flags & LAGTRAP_RUN_OPEN) != 0);
        annotate_flag(slice, is_abandoned, (run.flags & LAGTRAP_RUN_ABANDONED) != 0);
        annotate_flag(slice, reported_at_deadline, (run.flags & LAGTRAP_RUN_REPORTED) != 0);
        annotate_flag(slice, is_first, facts.first);
        if ((run.flags & LAGTRAP_RUN_IN_GO) != 0) annotate_flag(slice, is_in_go, true);
        if ((run.flags & LAGTRAP_RUN_WITHOUT_STAGES) != 0)
            annotate_flag(slice, without_stages, true);
        annotate_flag(slice, earlier_begin, (run.flags & LAGTRAP_RUN_EARLIER_BEGIN) != 0);
    });
}

void RunWriter::begin_stage(const OpenRun& open, const lagtrap_stage_hit& stage) {
    event(stage.at_ns, [&](pbf_writer& slice) {
        slice.add_uint64(perfetto::track_event::category_iids, stage_category);
        slice.add_enum(perfetto::track_event::type, perfetto::track_event::slice_begin);
        slice.add_uint64(perfetto::track_event::name_iid,
                         first_stage_name_[open.event] + stage.stage);
        slice.add_uint64(perfetto::track_event::track_uuid, open.track);
        perfetto::annotate(slice, run_id, open.id);
        perfetto::annotate(slice, stage_tid, stage.tid);
    });
}

void RunWriter::end_slice(std::uint64_t track, std::uint64_t at_ns) {
    event(at_ns, [&](pbf_writer& slice) {
        slice.add_enum(perfetto::track_event::type, perfetto::track_event::slice_end);
        slice.add_uint64(perfetto::track_event::track_uuid, track);
    });
}

void RunWriter::begin(const lagtrap_run& run, const RunFacts& facts) {
    write_due(run.begin_ns);
    OpenRun open;
    open.id = facts.id;
    open.event = run.event;
    open.end_ns = run.begin_ns + facts.duration_ns;
    open.stages = stages_of(run, open.end_ns, session_.events[run.event].stages.size());
    open.track = track_for(run, open.end_ns, facts.id);
    begin_slice(open, run, facts);
    due_.push({open.next_boundary_ns(), facts.id});
    open_.emplace(facts.id, std::move(open));
}

std::uint64_t RunWriter::next_due_ns() const {
    return due_.empty() ? std::numeric_limits<std::uint64_t>::max() : due_.top().at_ns;
}

void RunWriter::write_due(std::uint64_t at_ns) {
    while (!due_.empty() && due_.top().at_ns <= at_ns) {
        const Due due = due_.top();
        due_.pop();
        advance(open_.at(due.run), due.at_ns);
    }
}

void RunWriter::advance(OpenRun& run, std::uint64_t at_ns) {
    if (run.stage_open) end_slice(run.track, at_ns);
    run.stage_open = false;
    if (run.next_stage < run.stages.size()) {
        begin_stage(run, run.stages[run.next_stage++]);
        run.stage_open = true;
        due_.push({run.next_boundary_ns(), run.id});
        return;
    }
    end_slice(run.track, at_ns);
    close(run);
}

void RunWriter::close(const OpenRun& run) {
    tracks_.close(run.track, run.id);
    open_.erase(run.id);
}

}  // namespace lagtrap::trace
