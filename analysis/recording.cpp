#include "analysis/recording.hpp"

#include <algorithm>
#include <tuple>

#include "analysis/lock_turns.hpp"
#include "analysis/raw_trace.hpp"
#include "analysis/request_context.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::uint64_t trace_limit_bytes = 2ULL << 30;
constexpr std::uint64_t system_file_limit_bytes = 16ULL << 20;
constexpr std::uint64_t max_recording_ns = 24ULL * 3600 * 1'000'000'000;

// The bounds of the recording are those of the system file; without one, the trace's first and last
// times.
Status set_bounds(const RawTrace& raw, Recording& recording) {
    const trace::SystemFile& system = recording.system;
    if (system.length_ns > max_recording_ns ||
        system.started_boottime_ns > UINT64_MAX - max_recording_ns) {
        return make_error(ErrorKind::Invalid,
                          "the system file says that the recording took longer than 24 hours");
    }
    if (system.length_ns > 0) {
        recording.begin_ns = system.started_boottime_ns;
        recording.end_ns = system.started_boottime_ns + system.length_ns;
        return success();
    }
    std::uint64_t first = UINT64_MAX;
    std::uint64_t last = 0;
    const auto see = [&](std::uint64_t at_ns) {
        first = std::min(first, at_ns);
        last = std::max(last, at_ns);
    };
    for (const auto& [cpu, switches] : raw.switches) {
        for (const RawSwitch& change : switches) see(change.at_ns);
    }
    for (const RawSample& sample : raw.samples) see(sample.at_ns);
    if (last == 0) return success();
    recording.begin_ns = first;
    recording.end_ns = last;
    return success();
}

std::uint32_t count_cpus(const RawTrace& raw, const trace::SystemFile& system) {
    if (system.cpu_count > 0 && system.cpu_count <= cpu_limit) return system.cpu_count;
    std::uint32_t count = 1;
    for (const auto& [cpu, switches] : raw.switches) count = std::max(count, cpu + 1);
    for (const RawSample& sample : raw.samples) count = std::max(count, sample.cpu + 1);
    return count;
}

void take_stacks(RawTrace& raw, Recording& recording) {
    recording.names = std::move(raw.names);
    recording.frames = std::move(raw.frames);
    recording.stack_frames = std::move(raw.stack_frames);
    recording.stacks.resize(raw.stack_ends.size());
    for (std::size_t i = 1; i < raw.stack_ends.size(); ++i) {
        recording.stacks[i] =
            std::span<const std::uint32_t>(recording.stack_frames)
                .subspan(raw.stack_ends[i - 1], raw.stack_ends[i] - raw.stack_ends[i - 1]);
    }
}

// Gives waits that are sleeps stacks of their own.
void separate_sleeps(Recording& recording) {
    const auto sleeps = [&](const StateChange& wait) {
        return wait.stack != 0 && wait.file != 0 &&
               recording.waited_files[wait.file - 1].kind == WaitFileKind::Nothing;
    };
    std::unordered_map<StackId, StackId> copies;
    recording.first_sleep = static_cast<StackId>(recording.stacks.size());
    for (Thread& thread : recording.threads) {
        for (StateChange& wait : thread.changes) {
            if (!sleeps(wait)) continue;
            const auto next = static_cast<StackId>(recording.stacks.size());
            const auto [copy, added] = copies.try_emplace(wait.stack, next);
            if (added) recording.stacks.push_back(recording.stacks[wait.stack]);
            wait.stack = copy->second;
            wait.file = 0;
        }
    }
}

// A process is named after its main thread, otherwise its track, otherwise its program's file name.
void name_processes(RawTrace& raw) {
    for (const auto& [tid, thread] : raw.threads) {
        if (tid != 0 && thread.pid != 0) raw.processes[thread.pid].pid = thread.pid;
    }
    for (auto& [pid, process] : raw.processes) {
        const auto main_thread = raw.threads.find(pid);
        if (main_thread != raw.threads.end() && main_thread->second.name != 0) {
            process.name = main_thread->second.name;
        } else if (process.name == 0) {
            const std::string program =
                process.command_line.substr(0, process.command_line.find(' '));
            process.name = raw.intern(std::string_view(program).substr(program.rfind('/') + 1));
        }
    }
}

// The system file is untrusted text too; it must not control a terminal.
void make_printable(trace::SystemFile& system) {
    for (std::string* text :
         {&system.session_id, &system.lagtrap_version, &system.host, &system.os_name,
          &system.kernel_release, &system.architecture, &system.cpu_model, &system.stack_method,
          &system.trigger_reason, &system.trigger_event}) {
        *text = printable(*text);
    }
    for (trace::StackStop& stop : system.stacks.stops) {
        stop.module = printable(stop.module);
        stop.reason = printable(stop.reason);
    }
    for (trace::Delay& delay : system.delays) {
        for (std::string* text :
             {&delay.event, &delay.process, &delay.thread, &delay.program, &delay.program_build_id,
              &delay.program_version, &delay.control_group, &delay.unit, &delay.user,
              &delay.no_trace}) {
            *text = printable(*text);
        }
        // For older bundles.
        if (delay.unit.empty()) delay.unit = trace::group_words(delay.control_group, {}).whole;
        for (trace::StageTime& stage : delay.stages) stage.name = printable(stage.name);
    }
}

void take_earlier(RawTrace& raw, Recording& recording) {
    recording.earlier_samples = std::move(raw.earlier_samples);
    recording.earlier_waits = std::move(raw.earlier_waits);
    std::stable_sort(
        recording.earlier_samples.begin(), recording.earlier_samples.end(),
        [](const EarlierSample& a, const EarlierSample& b) { return a.at_ns < b.at_ns; });
    std::stable_sort(recording.earlier_waits.begin(), recording.earlier_waits.end(),
                     [](const EarlierWait& a, const EarlierWait& b) {
                         return std::tie(a.tid, a.begin_ns) < std::tie(b.tid, b.begin_ns);
                     });
}

bool is_trace_file(const std::filesystem::path& path) {
    return std::filesystem::is_directory(path) || path.extension() == ".pftrace";
}

}  // namespace

const Thread* Recording::find_thread(std::uint32_t tid) const {
    const auto place =
        std::lower_bound(threads.begin(), threads.end(), tid,
                         [](const Thread& thread, std::uint32_t id) { return thread.tid < id; });
    return place != threads.end() && place->tid == tid ? &*place : nullptr;
}

const Run* Recording::find_run(std::uint64_t id) const {
    const auto place =
        std::find_if(runs.begin(), runs.end(), [id](const Run& run) { return run.id == id; });
    return place != runs.end() ? &*place : nullptr;
}

// Two probes at one place see a call at slightly different times. A call within the run, of a
// recursive function, is a different one.
const RunCalls* Recording::calls_of(const trace::Delay& delay) const {
    const std::uint64_t delay_end_ns = delay.begin_ns + delay.duration_ns;
    for (const RunCalls& one : run_calls) {
        if (one.pid != delay.begin_pid || one.tree.tid != delay.begin_tid) continue;
        const std::uint64_t call_end_ns = one.begin_ns + one.tree.calls.front().end_ns;
        const std::uint64_t first_ns = std::min(one.begin_ns, delay.begin_ns);
        const std::uint64_t common_from_ns = std::max(one.begin_ns, delay.begin_ns);
        const std::uint64_t common_to_ns = std::min(call_end_ns, delay_end_ns);
        if (common_to_ns <= common_from_ns) continue;
        if ((common_to_ns - common_from_ns) * 2 > std::max(call_end_ns, delay_end_ns) - first_ns)
            return &one;
    }
    return nullptr;
}

const std::string& Recording::process_name(std::uint32_t pid) const {
    const auto process = processes.find(pid);
    return names[process != processes.end() ? process->second.name : 0];
}

const std::string& Recording::unit_of(std::uint32_t pid) const {
    const auto process = processes.find(pid);
    return names[process != processes.end() ? process->second.unit : 0];
}

const std::string& Recording::thread_name(std::uint32_t tid) const {
    const Thread* thread = find_thread(tid);
    if (thread == nullptr) return names[0];
    const bool is_main = thread->pid == tid && tid != 0;
    return thread->name == 0 && is_main ? process_name(tid) : names[thread->name];
}

std::uint64_t Recording::sample_interval_ns() const {
    return system.sample_interval_ns > 0 ? system.sample_interval_ns : 1'000'000;
}

Result<Recording> decode_recording(std::string_view trace, trace::SystemFile system) {
    TRY_ASSIGN(RawTrace raw, decode_trace(trace));
    Recording recording;
    make_printable(system);
    recording.system = std::move(system);
    TRY(set_bounds(raw, recording));
    recording.cpu_count = count_cpus(raw, recording.system);
    build_timelines(raw, recording);
    take_earlier(raw, recording);
    name_processes(raw);
    take_stacks(raw, recording);
    separate_sleeps(recording);
    find_lock_turns(recording);
    recording.processes = std::move(raw.processes);
    recording.runs = std::move(raw.runs);
    recording.run_index = index_of_runs(recording.runs);
    recording.run_calls = std::move(raw.run_calls);
    recording.called_functions = std::move(raw.called_functions);
    recording.unreadable = raw.unreadable;
    return recording;
}

Result<RecordingFiles> read_recording_files(const std::filesystem::path& path) {
    RecordingFiles files;
    if (is_trace_file(path)) {
        const bool is_folder = std::filesystem::is_directory(path);
        const auto folder = is_folder ? path : path.parent_path();
        TRY_ASSIGN(files.system_xml, read_file(folder / "system.xml", system_file_limit_bytes));
        TRY_ASSIGN(files.trace,
                   read_file(is_folder ? folder / "trace.pftrace" : path, trace_limit_bytes));
        return files;
    }
    TRY_ASSIGN(auto content, trace::read_bundle(path, trace_limit_bytes));
    files.trace = std::move(content.trace);
    files.system_xml = std::move(content.system_xml);
    return files;
}

Result<Recording> read_recording(const std::filesystem::path& path) {
    TRY_ASSIGN(const RecordingFiles files, read_recording_files(path));
    auto system = trace::read_system_file(files.system_xml);
    if (!system) return system.error().within("reading the system file of " + path.string());
    auto recording = decode_recording(files.trace, std::move(system).value());
    if (!recording) return recording.error().within("reading the trace of " + path.string());
    return recording;
}

}  // namespace lagtrap::analysis
