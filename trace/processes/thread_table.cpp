#include "trace/processes/thread_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/text.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

// Threads per packet: with a machine's thousands, a packet would be too large for readers to hold.
constexpr std::size_t threads_of_packet = 1000;

std::string program_name(const ProcessImage& image) {
    return printable(image.program.substr(image.program.rfind('/') + 1));
}

}  // namespace

std::string comm_text(const char (&comm)[LAGTRAP_COMM_BYTES]) {
    return printable(std::string_view(comm, ::strnlen(comm, sizeof(comm))));
}

void ThreadTable::add_process(protozero::pbf_writer& tree, std::uint32_t pid, std::uint64_t at_ns) {
    namespace field = perfetto::process_tree_process;
    const ProcessImage* image = spaces_.image_of(pid, at_ns);
    protozero::pbf_writer process(tree, perfetto::process_tree::processes);
    process.add_int32(field::pid, static_cast<std::int32_t>(pid));
    // A process whose parent exits gets a new one. Readers keep the first and count a second as an
    // error.
    const auto [parent, first] =
        parents_.try_emplace(pid, image != nullptr ? image->parent_pid : 0);
    process.add_int32(field::ppid, static_cast<std::int32_t>(parent->second));
    std::string_view command =
        image != nullptr ? std::string_view(image->command_line) : std::string_view();
    if (command.empty() && image != nullptr && !image->program.empty()) command = image->program;
    if (command.find_first_not_of(' ') == std::string_view::npos) {
        const std::string name = process_name(pid, at_ns);
        if (!name.empty()) process.add_string(field::cmdline, name);
    }
    while (!command.empty()) {
        const std::size_t end = std::min(command.find(' '), command.size());
        if (end > 0) process.add_string(field::cmdline, printable(command.substr(0, end)));
        command.remove_prefix(std::min(end + 1, command.size()));
    }
    if (image != nullptr) process.add_int32(field::uid, static_cast<std::int32_t>(image->uid));
    if (image != nullptr)
        if (GroupWords words = group_words(image->control_group, containers_);
            labels_[pid] != words.whole) {
            labels_[pid] = words.whole;
            labels_due_.emplace_back(pid, std::move(words));
        }
    if (const auto started = started_ns_.find(pid); started != started_ns_.end())
        process.add_uint64(field::process_start_from_boot, started->second);
}

void ThreadTable::add_thread(protozero::pbf_writer& tree, std::uint32_t tid,
                             const ThreadState& state) {
    namespace field = perfetto::process_tree_thread;
    protozero::pbf_writer thread(tree, perfetto::process_tree::threads);
    thread.add_int32(field::tid, static_cast<std::int32_t>(tid));
    if (!state.name.empty()) thread.add_string(field::name, state.name);
    thread.add_int32(field::tgid, static_cast<std::int32_t>(state.pid));
}

void ThreadTable::write(std::uint32_t tid, std::uint64_t at_ns, bool with_process) {
    const ThreadState& thread = threads_[tid];
    writer_.packet(Sequence::Machine, at_ns + boottime_offset_ns_, UsesInterning::No,
                   [&](protozero::pbf_writer& packet) {
                       protozero::pbf_writer tree(packet, perfetto::trace_packet::process_tree);
                       if (with_process) add_process(tree, thread.pid, at_ns);
                       add_thread(tree, tid, thread);
                   });
    write_labels(at_ns);
}

// Process trees cannot hold them, so they are on the runs' sequence.
void ThreadTable::write_labels(std::uint64_t at_ns) {
    constexpr std::uint64_t first_track = 1ULL << 62;  // tracks of runs count from 1
    for (const auto& [pid, words] : std::exchange(labels_due_, {}))
        writer_.packet(
            Sequence::Runs, at_ns + boottime_offset_ns_, UsesInterning::No,
            [&, &pid = pid, &words = words](protozero::pbf_writer& packet) {
                protozero::pbf_writer track(packet, perfetto::trace_packet::track_descriptor);
                track.add_uint64(perfetto::track_descriptor::uuid, first_track + ++label_tracks_);
                protozero::pbf_writer process(track, perfetto::track_descriptor::process);
                process.add_int32(perfetto::process_descriptor::pid,
                                  static_cast<std::int32_t>(pid));
                process.add_string(perfetto::process_descriptor::process_labels,
                                   printable(words.brief));
                if (words.whole != words.brief)
                    process.add_string(perfetto::process_descriptor::process_labels,
                                       printable(words.whole));
            });
}

void ThreadTable::write_initial(const std::vector<lagtrap_thread>& threads, std::uint64_t at_ns) {
    for (const lagtrap_thread& thread : threads) {
        ThreadState& state = threads_[thread.tid];
        state.pid = thread.pid;
        state.name = comm_text(thread.comm);
        if (thread.tid == thread.pid) started_ns_[thread.pid] = thread.started_ns;
        if (thread.is_kernel_thread != 0) parents_.try_emplace(thread.pid, thread.parent_pid);
    }
    for (std::size_t first = 0; first < threads.size(); first += threads_of_packet) {
        const std::size_t end = std::min(first + threads_of_packet, threads.size());
        writer_.packet(Sequence::Machine, at_ns + boottime_offset_ns_, UsesInterning::No,
                       [&](protozero::pbf_writer& packet) {
                           protozero::pbf_writer tree(packet, perfetto::trace_packet::process_tree);
                           for (std::size_t i = first; i < end; ++i)
                               if (reported_processes_.insert(threads[i].pid).second)
                                   add_process(tree, threads[i].pid, threads[i].header.at_ns);
                           for (std::size_t i = first; i < end; ++i)
                               add_thread(tree, threads[i].tid, threads_[threads[i].tid]);
                       });
        write_labels(at_ns);
    }
}

ThreadState& ThreadTable::begin_thread(std::uint32_t tid, std::uint32_t pid) {
    const auto [place, added] = threads_.try_emplace(tid);
    ThreadState& state = place->second;
    if (!added) ++state.generation;
    state.pid = pid;
    state.exited = false;
    state.name.clear();
    return state;
}

void ThreadTable::take_fork(const lagtrap_task_change& change, std::uint64_t at_ns) {
    const bool process = change.pid == change.tid && change.pid != change.parent_pid;
    ThreadState& state = begin_thread(change.tid, change.pid);
    if (const ThreadState* parent = find(change.parent_tid)) state.name = parent->name;
    if (process) parents_.erase(change.pid);
    if (process) started_ns_[change.pid] = change.header.at_ns + boottime_offset_ns_;
    write_new_task(change, state, at_ns);
    pending_.push_back({change.tid, at_ns, process});
}

void ThreadTable::write_new_task(const lagtrap_task_change& change, const ThreadState& state,
                                 std::uint64_t at_ns) {
    namespace field = perfetto::task_newtask;
    const std::uint64_t boottime_ns = at_ns + boottime_offset_ns_;
    writer_.packet(cpu_sequence(change.header.cpu), boottime_ns, UsesInterning::No,
                   [&](protozero::pbf_writer& packet) {
                       protozero::pbf_writer bundle(packet, perfetto::trace_packet::ftrace_events);
                       bundle.add_uint32(perfetto::ftrace_event_bundle::cpu, change.header.cpu);
                       protozero::pbf_writer event(bundle, perfetto::ftrace_event_bundle::event);
                       event.add_uint64(perfetto::ftrace_event::timestamp, boottime_ns);
                       event.add_uint32(perfetto::ftrace_event::pid, change.parent_tid);
                       protozero::pbf_writer task(event, perfetto::ftrace_event::task_newtask);
                       task.add_int32(field::pid, static_cast<std::int32_t>(change.tid));
                       task.add_string(field::comm, state.name);
                       task.add_uint64(field::clone_flags,
                                       change.pid == change.parent_pid ? field::clone_thread : 0);
                   });
}

void ThreadTable::write_pending(std::uint64_t at_ns) {
    if (pending_.empty() || pending_.back().since_ns >= at_ns) return;
    for (const Pending& pending : pending_) write(pending.tid, at_ns, pending.with_process);
    pending_.clear();
}

void ThreadTable::take_name(const lagtrap_name& name, std::uint64_t at_ns) {
    ThreadState& state = threads_[name.tid];
    if (name.pid != 0) state.pid = name.pid;
    state.name = comm_text(name.comm);
    write(name.tid, at_ns, name.by_exec != 0);
}

void ThreadTable::take(const lagtrap_record* record, std::uint64_t at_ns) {
    switch (record->type) {
        case LAGTRAP_RECORD_FORK:
            take_fork(*reinterpret_cast<const lagtrap_task_change*>(record), at_ns);
            break;
        case LAGTRAP_RECORD_NAME:
            take_name(*reinterpret_cast<const lagtrap_name*>(record), at_ns);
            break;
        case LAGTRAP_RECORD_EXIT: {
            const auto found =
                threads_.find(reinterpret_cast<const lagtrap_task_change*>(record)->tid);
            if (found != threads_.end()) found->second.exited = true;
            break;
        }
        case LAGTRAP_RECORD_PROCESS: {
            const std::uint32_t pid = reinterpret_cast<const lagtrap_process*>(record)->pid;
            if (threads_.contains(pid) && !reported_processes_.contains(pid))
                write(pid, at_ns, true);
            break;
        }
        default: break;
    }
}

const ThreadState& ThreadTable::at(std::uint32_t tid, std::uint32_t pid, std::uint64_t at_ns) {
    const auto found = threads_.find(tid);
    // If the process differs, the number was reused and the records that say so were lost.
    if (found != threads_.end() && (pid == 0 || found->second.pid == pid)) {
        for (const Pending& pending : pending_)
            if (pending.tid == tid) write(tid, at_ns, pending.with_process);
        return found->second;
    }
    ThreadState& state = begin_thread(tid, pid);
    // The kernel may hide a process from the list of processes, but /proc still has its name.
    if (tid != 0) write(tid, at_ns, reported_processes_.insert(pid).second || tid == pid);
    return state;
}

const ThreadState* ThreadTable::find(std::uint32_t tid) const {
    const auto found = threads_.find(tid);
    return found == threads_.end() ? nullptr : &found->second;
}

std::string ThreadTable::process_name(std::uint32_t pid, std::uint64_t at_ns) const {
    const ThreadState* leader = find(pid);
    if (leader != nullptr && leader->pid == pid && !leader->name.empty()) return leader->name;
    const ProcessImage* image = spaces_.image_of(pid, at_ns);
    return image != nullptr ? program_name(*image) : std::string();
}

}  // namespace lagtrap::trace
