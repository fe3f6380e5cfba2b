// Writes runs and their stages as slices of the trace.
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "trace/logs/session.hpp"
#include "trace/merge/run_tracks.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/thread_table.hpp"

namespace lagtrap::trace {

// Facts about a run that its record does not have. Time stamps of records are monotonic.
struct RunFacts {
    std::uint64_t id = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t queued_ns = 0;
    bool delay = false;
    bool first = false;
};

// Accepts runs in order of their begins. A run goes on its thread's track if it ends on that thread
// and nests within the runs and stages there. Otherwise it gets a separate track under its process,
// which later runs of the event reuse.
class RunWriter {
  public:
    RunWriter(const Session& session, ThreadTable& threads, PacketWriter& writer,
              std::uint64_t boottime_offset_ns);

    // Writes the begin of the next run, preceded by anything of earlier runs that is due.
    // `run.event` must be an event of the session.
    void begin(const lagtrap_run& run, const RunFacts& facts);

    // Time of the next stage or end of an open run; UINT64_MAX if there is none.
    [[nodiscard]] std::uint64_t next_due_ns() const;
    // Writes everything due up to `at_ns`.
    void write_due(std::uint64_t at_ns);

  private:
    // An open run. Its boundaries are its stage hits, sorted, and its end.
    struct OpenRun {
        std::uint64_t id = 0;
        std::uint64_t track = 0;
        std::uint32_t event = 0;
        std::uint64_t end_ns = 0;
        std::vector<lagtrap_stage_hit> stages;
        std::size_t next_stage = 0;
        bool stage_open = false;
        [[nodiscard]] std::uint64_t next_boundary_ns() const {
            return next_stage < stages.size() ? stages[next_stage].at_ns : end_ns;
        }
    };
    struct Due {
        std::uint64_t at_ns;
        std::uint64_t run;
        // Earliest on top. At equal times the run that began last comes first, because it is nested
        // in the others.
        [[nodiscard]] bool operator<(const Due& other) const {
            return at_ns != other.at_ns ? at_ns > other.at_ns : run < other.run;
        }
    };

    std::uint64_t track_for(const lagtrap_run& run, std::uint64_t end_ns, std::uint64_t id);
    void advance(OpenRun& run, std::uint64_t at_ns);
    void close(const OpenRun& run);
    void begin_slice(const OpenRun& open, const lagtrap_run& run, const RunFacts& facts);
    void begin_stage(const OpenRun& open, const lagtrap_stage_hit& stage);
    void end_slice(std::uint64_t track, std::uint64_t at_ns);
    template <typename Fill>
    void event(std::uint64_t at_ns, Fill fill);

    const Session& session_;
    PacketWriter& writer_;
    std::uint64_t boottime_offset_ns_;
    // interned number of each event's first stage name
    std::vector<std::uint32_t> first_stage_name_;
    bool names_defined_ = false;
    RunTracks tracks_;
    std::unordered_map<std::uint64_t, OpenRun> open_;
    std::priority_queue<Due> due_;
};

}  // namespace lagtrap::trace
