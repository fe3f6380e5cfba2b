#include "analysis/file_waits.hpp"

#include <algorithm>
#include <map>

#include "analysis/socket_owners.hpp"

namespace lagtrap::analysis {

namespace {

bool belongs(WaitFileKind file, WaitKind wait) {
    switch (wait) {
        case WaitKind::Disk:
        case WaitKind::KernelLock:
        case WaitKind::FrozenFiles:
        case WaitKind::Other: return file == WaitFileKind::OfCall || file == WaitFileKind::OfFault;
        case WaitKind::FrozenMapping:
        case WaitKind::PageFault: return file == WaitFileKind::OfFault;
        case WaitKind::FileLock: return file == WaitFileKind::Lock;
        case WaitKind::DatabaseLock:
        case WaitKind::Sleep: return file == WaitFileKind::Refused;
        case WaitKind::Events: return file == WaitFileKind::Refused || is_socket(file);
        case WaitKind::Pipe: return file == WaitFileKind::Pipe;
        case WaitKind::Network:
        case WaitKind::LocalSocket: return is_socket(file);
        default: return false;
    }
}

struct OneFile {
    std::uint64_t time_ns = 0;
    double requests = 0;  // queue depth multiplied by time
    WaitFileKind kind = WaitFileKind::Unknown;
    bool syn_repeated = false;
    NameId disk = 0;
    bool listener_full = false;
    std::map<std::uint32_t, std::uint64_t> holders;  // time by process
    std::map<std::uint32_t, std::uint64_t> owners;   // as with `holders`
};

template <typename Map>
auto with_most_time(const Map& times) {
    return std::max_element(times.begin(), times.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
}

// If processes with different names have it, it is unknown which of them was waited for.
void add_owners(const Recording& recording, const OneFile& file, FileWaits& found) {
    if (file.owners.empty()) return;
    const auto& [pid, time_ns] = *with_most_time(file.owners);
    const std::string& name = recording.process_name(pid);
    for (const auto& [other, other_ns] : file.owners) {
        if (other == pid) continue;
        if (recording.process_name(other) != name && other_ns * 2 > time_ns) return;
        if (recording.process_name(other) == name) ++found.more_owners;
    }
    found.owner_pid = pid;
    found.owner = name;
    found.listener_full = file.listener_full;
}

}  // namespace

bool is_socket(WaitFileKind kind) {
    return kind == WaitFileKind::Peer || kind == WaitFileKind::Connecting ||
           kind == WaitFileKind::DatagramPeer || kind == WaitFileKind::LocalPeer;
}

bool has_other_end(WaitFileKind kind) { return is_socket(kind) || kind == WaitFileKind::Pipe; }

FileWaits file_waits_of(const Recording& recording, const std::vector<Interval>& waits,
                        WaitKind kind) {
    std::map<NameId, OneFile> files;
    std::map<NameId, std::uint64_t> disks;
    std::uint64_t asked_ns = 0;
    for (const Interval& wait : waits) {
        if (!wait.counted) asked_ns += wait.length_ns();
        if (wait.wake_cause == WakeCause::Disk && wait.wake_device != 0)
            disks[wait.wake_device] += wait.length_ns();
        if (wait.file == 0) continue;
        const WaitedFile& waited = recording.waited_files[wait.file - 1];
        if (!belongs(waited.kind, kind)) continue;
        const SocketOwners owners =
            has_other_end(waited.kind) ? other_end_of(recording, wait) : SocketOwners{};
        // A local socket without a path is identified by the process at its other end.
        if (waited.path == 0 && owners.pids.empty()) continue;
        OneFile& file = files[waited.path];
        for (const std::uint32_t pid : owners.pids) file.owners[pid] += wait.length_ns();
        file.listener_full = file.listener_full || owners.full;
        file.time_ns += wait.length_ns();
        file.requests +=
            static_cast<double>(waited.queue_depth) * static_cast<double>(wait.length_ns());
        file.disk = waited.disk;
        file.kind = waited.kind;
        if (waited.kind == WaitFileKind::Connecting && is_syn_repeated_in(recording, wait))
            file.syn_repeated = true;
        if (waited.holder_pid != 0) file.holders[waited.holder_pid] += wait.length_ns();
    }
    FileWaits found;
    found.asked_ns = asked_ns;
    if (!disks.empty()) found.disk = recording.name(with_most_time(disks)->first);
    if (files.empty()) return found;
    const auto& [path, file] = *std::max_element(
        files.begin(), files.end(),
        [](const auto& a, const auto& b) { return a.second.time_ns < b.second.time_ns; });
    found.path = recording.name(path);
    found.kind = file.kind;
    found.syn_repeated = file.syn_repeated;
    found.files = static_cast<std::uint32_t>(files.size());
    found.time_ns = file.time_ns;
    if (file.disk != 0) found.disk = recording.name(file.disk);
    if (file.time_ns > 0)
        found.queue_depth =
            static_cast<std::uint32_t>(file.requests / static_cast<double>(file.time_ns) + 0.5);
    add_owners(recording, file, found);
    if (file.holders.empty()) return found;
    found.holder_pid = with_most_time(file.holders)->first;
    found.holder = recording.process_name(found.holder_pid);
    return found;
}

}  // namespace lagtrap::analysis
