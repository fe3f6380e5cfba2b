#include <algorithm>
#include <map>
#include <string_view>

#include "analysis/block_reason.hpp"
#include "analysis/time_split.hpp"
#include "formats/profile_maker.hpp"

namespace lagtrap::formats {

namespace {

using analysis::Interval;
using analysis::Recording;
using analysis::StackId;
using analysis::ThreadState;
using analysis::TimeKind;

class RecordingProfile {
  public:
    RecordingProfile(const Recording& recording, StackProfile& profile)
        : recording_(recording), profile_(profile), maker_(profile) {}

    void add(std::uint32_t tid, const std::vector<Interval>& intervals, bool with_unknown);
    void add_run(const analysis::Run& run);
    void finish(TimeChoice time) { maker_.finish(time); }

  private:
    std::uint32_t node_of(StackId stack);
    void add_running(ProfiledThread& thread, const Interval& interval);
    void add_lost(ProfiledThread& thread, const Interval& interval, bool with_unknown);
    void add_piece(ProfiledThread& thread, std::uint64_t begin_ns, std::uint64_t end_ns,
                   TimeKind kind, StackId stack, const Interval& interval,
                   std::string_view reason = {}, bool sampled = false);
    void give_first_waits_a_stack(ProfiledThread& thread);
    static void share_out(ProfiledThread& thread);

    const Recording& recording_;
    StackProfile& profile_;
    ProfileMaker maker_;
    std::unordered_map<StackId, std::uint32_t> nodes_;
    std::unordered_map<std::uint32_t, std::uint32_t> places_;  // by index into recording_.frames
    std::unordered_map<StackId, std::string> reasons_;
    StackId last_seen_ = 0;  // of the current thread
};

std::uint32_t RecordingProfile::node_of(StackId stack) {
    const auto [known, added] = nodes_.try_emplace(stack, 0);
    if (!added) return known->second;
    std::uint32_t node = 0;
    for (const std::uint32_t frame_index : recording_.stacks[stack]) {
        const auto [place, is_new] = places_.try_emplace(frame_index, 0);
        if (is_new) {
            const analysis::Frame& frame = recording_.frames[frame_index];
            Place made;
            made.function = recording_.name(frame.label);
            made.module = recording_.name(frame.module);
            made.build_id = recording_.name(frame.build_id);
            made.source = recording_.name(frame.source);
            made.line = frame.line;
            made.offset = frame.offset;
            made.kernel = frame.kernel;
            place->second = maker_.add_place(std::move(made));
        }
        node = maker_.child(node, place->second);
    }
    nodes_[stack] = node;
    return node;
}

void RecordingProfile::add_piece(ProfiledThread& thread, std::uint64_t begin_ns,
                                 std::uint64_t end_ns, TimeKind kind, StackId stack,
                                 const Interval& interval, std::string_view reason, bool sampled) {
    if (end_ns <= begin_ns) return;
    Piece piece;
    piece.begin_ns = begin_ns - profile_.boottime_ns;
    piece.length_ns = piece.weight_ns = end_ns - begin_ns;
    piece.kind = kind;
    piece.stack = node_of(stack);
    piece.reason = maker_.text(std::string(reason));
    piece.cpu = interval.cpu;
    piece.sampled = sampled;
    maker_.set_leaf(piece);
    thread.pieces.push_back(piece);
}

// Each sample covers the time around it, up to halfway to its neighbours.
void RecordingProfile::add_running(ProfiledThread& thread, const Interval& interval) {
    std::vector<analysis::Sample> samples;
    const analysis::Thread* known = recording_.find_thread(interval.tid);
    if (known != nullptr && !interval.counted) {
        analysis::for_samples(*known, {interval.begin_ns, interval.end_ns},
                              [&](const analysis::Sample& sample) { samples.push_back(sample); });
    }
    if (samples.empty()) {
        add_piece(thread, interval.begin_ns, interval.end_ns, TimeKind::OnCpu, 0, interval);
        return;
    }
    std::uint64_t from_ns = interval.begin_ns;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::uint64_t to_ns =
            i + 1 < samples.size()
                ? samples[i].at_ns + (samples[i + 1].at_ns - samples[i].at_ns) / 2
                : interval.end_ns;
        add_piece(thread, from_ns, to_ns, TimeKind::OnCpu, samples[i].stack, interval, {}, true);
        last_seen_ = samples[i].stack;
        from_ns = std::max(from_ns, to_ns);
    }
}

// If context switches were lost, samples still prove that the thread ran; each covers one sample
// interval.
void RecordingProfile::add_lost(ProfiledThread& thread, const Interval& interval,
                                bool with_unknown) {
    const auto unknown = [&](std::uint64_t from_ns, std::uint64_t to_ns) {
        if (with_unknown)
            add_piece(thread, from_ns, to_ns, TimeKind::Unknown, 0, interval,
                      analysis::to_text(interval));
    };
    std::uint64_t from_ns = interval.begin_ns;
    const analysis::Thread* known =
        interval.gap == Interval::Gap::Lost ? recording_.find_thread(interval.tid) : nullptr;
    if (known != nullptr) {
        analysis::for_samples(
            *known, {interval.begin_ns, interval.end_ns}, [&](const analysis::Sample& sample) {
                const std::uint64_t begin_ns = std::max(from_ns, sample.at_ns);
                const std::uint64_t end_ns =
                    std::min(begin_ns + recording_.sample_interval_ns(), interval.end_ns);
                unknown(from_ns, begin_ns);
                Interval on_cpu = interval;
                on_cpu.cpu = static_cast<std::uint16_t>(sample.cpu);
                add_piece(thread, begin_ns, end_ns, TimeKind::OnCpu, sample.stack, on_cpu, {},
                          true);
                last_seen_ = sample.stack;
                from_ns = std::max(from_ns, end_ns);
            });
    }
    unknown(from_ns, interval.end_ns);
}

// A thread that waits for a CPU before it was seen anywhere will resume where it is first seen.
void RecordingProfile::give_first_waits_a_stack(ProfiledThread& thread) {
    const auto seen = std::find_if(thread.pieces.begin(), thread.pieces.end(),
                                   [](const Piece& piece) { return piece.stack != 0; });
    if (seen == thread.pieces.end()) return;
    for (auto piece = thread.pieces.begin(); piece != seen; ++piece) {
        if (piece->kind != TimeKind::Runnable) continue;
        piece->stack = seen->stack;
        maker_.set_leaf(*piece);
    }
}

// Divides time on a CPU evenly among samples. Carries rounding remainders over, so that the sum is
// exact.
void RecordingProfile::share_out(ProfiledThread& thread) {
    std::uint64_t on_cpu_ns = 0, samples = 0;
    for (const Piece& piece : thread.pieces) {
        on_cpu_ns += piece.kind == TimeKind::OnCpu ? piece.length_ns : 0;
        samples += piece.sampled ? 1 : 0;
    }
    if (samples == 0) return;
    std::uint64_t seen = 0, given_ns = 0;
    for (Piece& piece : thread.pieces) {
        if (piece.kind != TimeKind::OnCpu) continue;
        seen += piece.sampled ? 1 : 0;
        const auto until_ns =
            static_cast<std::uint64_t>(static_cast<unsigned __int128>(on_cpu_ns) * seen / samples);
        piece.weight_ns = until_ns - given_ns;
        given_ns = until_ns;
    }
}

void RecordingProfile::add(std::uint32_t tid, const std::vector<Interval>& intervals,
                           bool with_unknown) {
    ProfiledThread thread;
    thread.tid = tid;
    if (const analysis::Thread* known = recording_.find_thread(tid); known != nullptr) {
        thread.pid = known->pid;
        thread.name = recording_.name(known->name);
        thread.process = recording_.process_name(known->pid);
    }
    last_seen_ = 0;
    for (const Interval& interval : intervals) {
        switch (interval.state) {
            case ThreadState::Running: add_running(thread, interval); break;
            case ThreadState::Runnable:
                add_piece(thread, interval.begin_ns, interval.end_ns, TimeKind::Runnable,
                          last_seen_, interval);
                break;
            case ThreadState::Blocked: {
                const auto [known, added] = reasons_.try_emplace(interval.stack);
                if (added) known->second = analysis::reason_of_stack(recording_, interval.stack);
                add_piece(
                    thread, interval.begin_ns, interval.end_ns, TimeKind::Blocked, interval.stack,
                    interval,
                    interval.queue.empty() ? std::string_view(known->second) : interval.queue);
                last_seen_ = interval.stack;
                break;
            }
            default: add_lost(thread, interval, with_unknown); break;
        }
    }
    give_first_waits_a_stack(thread);
    share_out(thread);
    if (!thread.pieces.empty()) profile_.threads.push_back(std::move(thread));
}

void RecordingProfile::add_run(const analysis::Run& run) {
    const auto after = [&](std::uint64_t at_ns) {
        return std::max(at_ns, profile_.boottime_ns) - profile_.boottime_ns;
    };
    const auto add = [&](const std::string& name, std::uint32_t tid, std::uint64_t begin_ns,
                         std::uint64_t end_ns, bool stage) {
        Span span;
        span.name = name;
        span.event = run.event;
        span.run = run.id;
        span.pid = run.begin_pid;
        span.tid = tid;
        span.begin_ns = after(begin_ns);
        span.length_ns = after(end_ns) - std::min(span.begin_ns, after(end_ns));
        span.stage = stage;
        span.delay = run.delay;
        profile_.spans.push_back(std::move(span));
    };
    add(run.event, run.begin_tid, run.begin_ns, run.end_ns, false);
    for (const analysis::RecordedStage& stage : run.stages)
        add(stage.name, stage.tid != 0 ? stage.tid : run.begin_tid, stage.begin_ns, stage.end_ns,
            true);
}

void describe(const Recording& recording, StackProfile& profile, std::uint64_t begin_ns,
              std::uint64_t end_ns) {
    const trace::SystemFile& system = recording.system;
    profile.host = system.host;
    profile.system = system.os_name + ", Linux " + system.kernel_release;
    profile.boottime_ns = begin_ns;
    profile.length_ns = end_ns - begin_ns;
    // The profile may begin before the recording did.
    if (system.started_realtime_ns != 0)
        profile.realtime_ns = system.started_realtime_ns + (begin_ns - system.started_boottime_ns);
    profile.sample_interval_ns = recording.sample_interval_ns();
}

void choose_thread(StackProfile& profile, const std::string& wanted) {
    const auto is_wanted = [&](const ProfiledThread& thread) {
        return thread.name == wanted || std::to_string(thread.tid) == wanted;
    };
    std::vector<std::uint32_t> tids;
    for (const ProfiledThread& thread : profile.threads)
        if (is_wanted(thread)) tids.push_back(thread.tid);
    std::erase_if(profile.threads,
                  [&](const ProfiledThread& thread) { return !is_wanted(thread); });
    std::erase_if(profile.spans, [&](const Span& span) {
        return std::find(tids.begin(), tids.end(), span.tid) == tids.end();
    });
}

Error no_thread(const StackProfile& profile, const ProfileChoice& choice,
                const std::vector<std::string>& names) {
    std::string message = "no thread \"" + choice.thread + "\" in " + profile.title + "; there ";
    message += names.size() == 1 ? "is " : "are ";
    constexpr std::size_t shown = 5;
    for (std::size_t i = 0; i < std::min(names.size(), shown); ++i)
        message += (i > 0 ? ", " : "") + names[i];
    if (names.size() > shown) message += " and " + std::to_string(names.size() - shown) + " more";
    return make_error(ErrorKind::NotFound,
                      names.empty() ? "nothing is known of " + profile.title : message);
}

Result<const trace::Delay*> delay_of(const Recording& recording, std::size_t number) {
    const auto& delays = recording.system.delays;
    if (number >= 1 && number <= delays.size()) return &delays[number - 1];
    return make_error(ErrorKind::NotFound, "there is no delay " + std::to_string(number) +
                                               "; the recording has " +
                                               std::to_string(delays.size()));
}

void add_delay(const Recording& recording, const trace::Delay& delay, StackProfile& profile,
               RecordingProfile& maker) {
    std::map<std::uint32_t, std::vector<Interval>> by_thread;
    for (const Interval& interval : analysis::intervals_of_delay(recording, delay))
        by_thread[interval.tid].push_back(interval);
    for (const auto& [tid, intervals] : by_thread) maker.add(tid, intervals, true);
    for (ProfiledThread& thread : profile.threads) {
        if (thread.pid == 0) thread.pid = delay.begin_pid;
        if (thread.process.empty()) thread.process = delay.process;
        if (thread.name.empty())
            thread.name = thread.tid == delay.begin_tid ? delay.thread : "no thread";
    }
    if (const analysis::Run* run = recording.find_run(delay.run_id); run != nullptr)
        maker.add_run(*run);
}

}  // namespace

Result<StackProfile> profile_of_recording(const Recording& recording, const ProfileChoice& choice) {
    StackProfile profile;
    RecordingProfile maker(recording, profile);
    if (choice.delay) {
        TRY_ASSIGN(const trace::Delay* delay, delay_of(recording, *choice.delay));
        profile.title = delay->event + ", delay " + std::to_string(*choice.delay);
        describe(recording, profile, delay->begin_ns, analysis::end_of(*delay));
        add_delay(recording, *delay, profile, maker);
    } else {
        profile.title = "recording " + recording.system.session_id;
        describe(recording, profile, recording.begin_ns, recording.end_ns);
        for (const analysis::Thread& thread : recording.threads)
            maker.add(thread.tid,
                      analysis::intervals_of_thread(recording, thread.tid,
                                                    {recording.begin_ns, recording.end_ns}),
                      false);
        for (const analysis::Run& run : recording.runs) maker.add_run(run);
    }
    for (ProfiledThread& thread : profile.threads) {
        if (thread.process.empty()) thread.process = "pid " + std::to_string(thread.pid);
        if (thread.name.empty()) thread.name = "tid " + std::to_string(thread.tid);
    }
    if (!choice.thread.empty()) {
        std::vector<std::string> names;
        for (const ProfiledThread& thread : profile.threads)
            names.push_back(thread.name + " (" + std::to_string(thread.tid) + ")");
        choose_thread(profile, choice.thread);
        if (profile.threads.empty()) return no_thread(profile, choice, names);
    }
    maker.finish(choice.time);
    return profile;
}

}  // namespace lagtrap::formats
