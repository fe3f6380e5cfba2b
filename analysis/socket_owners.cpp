#include "analysis/socket_owners.hpp"

#include <algorithm>
#include <map>

namespace lagtrap::analysis {

namespace {

constexpr std::size_t candidates_limit = 200;

bool is_accepting(const Recording& recording, StackId stack) {
    const auto frames = recording.stacks[stack];
    return std::any_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
        const Frame& frame = recording.frames[place];
        return frame.kernel && recording.name(frame.label) == "inet_csk_accept";
    });
}

// True if the thread waits for connections at any time of the recording.
bool accepts(const Recording& recording, const Thread& thread, std::map<StackId, bool>& known) {
    return std::any_of(thread.changes.begin(), thread.changes.end(),
                       [&](const StateChange& change) {
                           if (change.state != ThreadState::Blocked || change.stack == 0)
                               return false;
                           const auto [place, added] = known.try_emplace(change.stack);
                           if (added) place->second = is_accepting(recording, change.stack);
                           return place->second;
                       });
}

std::uint64_t busy_ns(const Recording& recording, std::uint32_t tid, Window window) {
    std::uint64_t sum_ns = 0;
    for (const Interval& interval : intervals_of_thread(recording, tid, window))
        if (interval.state == ThreadState::Running || interval.state == ThreadState::Runnable)
            sum_ns += interval.length_ns();
    return sum_ns;
}

// 0 if unknown.
std::uint32_t thread_that_should_accept(const Recording& recording, const SocketOwners& owners,
                                        Window window) {
    std::vector<const Thread*> threads, accepting;
    std::map<StackId, bool> known;
    for (const Thread& thread : recording.threads) {
        if (std::find(owners.pids.begin(), owners.pids.end(), thread.pid) == owners.pids.end())
            continue;
        if (threads.size() == candidates_limit) break;
        threads.push_back(&thread);
        if (accepts(recording, thread, known)) accepting.push_back(&thread);
    }
    std::uint32_t found = 0;
    std::uint64_t max_ns = 0;
    for (const Thread* thread : accepting.empty() ? threads : accepting) {
        const std::uint64_t time_ns = busy_ns(recording, thread->tid, window);
        if (found != 0 && time_ns <= max_ns) continue;
        found = thread->tid;
        max_ns = time_ns;
    }
    return found;
}

}  // namespace

SocketOwners owners_of(const Recording& recording, const WaitedFile& socket) {
    SocketOwners owners;
    const bool for_listener =
        socket.kind == WaitFileKind::Connecting || socket.kind == WaitFileKind::DatagramPeer;
    for (const SocketOwner& owner : recording.socket_owners) {
        const bool listens = owner.kind != WaitFileKind::Owner;
        if (listens != for_listener) continue;
        // A listener was recorded only once, for one of the sockets that wait for it.
        const bool same = owner.socket == socket.socket ||
                          (listens && owner.peer != 0 && owner.peer == socket.path);
        if (socket.socket == 0 || !same) continue;
        owners.pids.push_back(owner.pid);
        owners.full = owners.full || owner.kind == WaitFileKind::FullListener;
    }
    std::sort(owners.pids.begin(), owners.pids.end());
    owners.pids.erase(std::unique(owners.pids.begin(), owners.pids.end()), owners.pids.end());
    return owners;
}

SocketOwners other_end_of(const Recording& recording, const Interval& wait) {
    if (wait.file == 0) return {};
    SocketOwners owners = owners_of(recording, recording.waited_files[wait.file - 1]);
    const Thread* const waiting = recording.find_thread(wait.tid);
    if (owners.pids.size() > 1 && waiting != nullptr) std::erase(owners.pids, waiting->pid);
    return owners;
}

bool is_syn_repeated_in(const Recording& recording, const Interval& wait) {
    if (wait.file == 0) return false;
    const WaitedFile& waited = recording.waited_files[wait.file - 1];
    return std::any_of(recording.repeated_syns.begin(), recording.repeated_syns.end(),
                       [&](const FailedConnect& syn) {
                           // In older recordings, sockets have no number, only a peer.
                           const bool same = syn.socket != 0 && waited.socket != 0
                                                 ? syn.socket == waited.socket
                                                 : syn.peer != 0 && syn.peer == waited.path;
                           return same && syn.at_ns >= wait.begin_ns && syn.at_ns < wait.end_ns;
                       });
}

void blame_full_listeners(const Recording& recording, std::vector<Interval>& intervals) {
    if (recording.socket_owners.empty()) return;
    for (Interval& wait : intervals) {
        if (wait.state != ThreadState::Blocked || wait.file == 0) continue;
        const WaitedFile& waited = recording.waited_files[wait.file - 1];
        if (waited.kind != WaitFileKind::Connecting || !is_syn_repeated_in(recording, wait))
            continue;
        const SocketOwners owners = owners_of(recording, waited);
        if (!owners.full) continue;
        const std::uint32_t tid =
            thread_that_should_accept(recording, owners, {wait.begin_ns, wait.end_ns});
        if (tid == 0 || tid == wait.tid) continue;
        wait.set_waker(tid);
    }
}

}  // namespace lagtrap::analysis
