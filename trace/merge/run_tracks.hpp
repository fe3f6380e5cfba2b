// The tracks of a trace that show runs.
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "trace/logs/session.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/thread_table.hpp"

namespace lagtrap::trace {

struct ThreadTrack {
    std::uint64_t uuid = 0;
    std::vector<std::uint64_t> open;  // runs on it, innermost last
};

// Describes each track in the trace when it is first asked for.
class RunTracks {
  public:
    // All must outlive it.
    RunTracks(const Session& session, ThreadTable& threads, PacketWriter& writer,
              std::uint64_t boottime_offset_ns)
        : session_(session),
          threads_(threads),
          writer_(writer),
          boottime_offset_ns_(boottime_offset_ns) {}

    // The track of the thread that began the run. Add the run to `open` if it goes there.
    [[nodiscard]] ThreadTrack& of_thread(const lagtrap_run& run);
    // A track below the run's process that no other run of the event uses until `end_ns`. Runs of
    // the event come in order of their begins.
    [[nodiscard]] std::uint64_t below_process(const lagtrap_run& run, std::uint64_t end_ns);
    // Takes an ended run off its thread's track, if it is on one.
    void close(std::uint64_t track, std::uint64_t run_id);

  private:
    using ThreadKey = std::pair<std::uint32_t, std::uint32_t>;  // number, generation
    struct Lane {
        std::uint64_t free_ns;
        std::uint64_t track;
        [[nodiscard]] bool operator<(const Lane& other) const { return free_ns > other.free_ns; }
    };

    [[nodiscard]] std::uint64_t of_process(const lagtrap_run& run);
    template <typename Fill>
    void describe(std::uint64_t at_ns, Fill fill);

    const Session& session_;
    ThreadTable& threads_;
    PacketWriter& writer_;
    std::uint64_t boottime_offset_ns_;
    std::uint64_t tracks_ = 0;
    std::map<ThreadKey, ThreadTrack> thread_tracks_;
    std::unordered_map<std::uint64_t, ThreadKey> track_threads_;
    std::map<ThreadKey, std::uint64_t> process_tracks_;
    // by process track and event
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::priority_queue<Lane>> lanes_;
};

}  // namespace lagtrap::trace
