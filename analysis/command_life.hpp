// Treats a command's life, from its first instruction to its end, as one run: where the time went,
// in the command and in the processes it waited for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/delay_cause.hpp"
#include "analysis/recording.hpp"
#include "analysis/run_profile.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// Time of one kind, for one reason, in processes of one name.
struct LifePart {
    std::string process;
    std::size_t processes = 0;
    TimeKind kind = TimeKind::Unknown;
    std::string reason;  // Blocked: as in TimeSplit; Unknown: why it is unknown
    std::uint64_t time_ns = 0;
};

// A wait of the command's main thread.
struct LongWait {
    std::uint64_t offset_ns = 0;  // after the begin
    std::uint64_t length_ns = 0;
    std::string reason;
    ThreadName ended_by;  // tid 0 if no thread ended it, or if unknown
    bool timed_out = false;
    bool went_on = false;  // it continued after the end of the recording
};

struct StartedProcess {
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::string name;
    std::string command_line;
    std::uint64_t offset_ns = 0;
    std::uint64_t life_ns = 0;  // within the recording
    std::uint64_t on_cpu_ns = 0;
};

struct CommandLife {
    trace::Delay delay;
    TimeSplit split;  // of its main thread
    DelayCauses causes;
    std::vector<LifePart> parts;          // longest first; add up to the delay
    std::vector<LongWait> waits;          // longest first; at most 10
    std::vector<StartedProcess> started;  // all descendants of the command, by start time
};

// `end_ns` is when the parent saw it end, possibly after the end of the recording. Both times are
// CLOCK_BOOTTIME.
[[nodiscard]] trace::Delay run_of_command(const Recording& recording, std::uint32_t pid,
                                          std::uint64_t begin_ns, std::uint64_t end_ns);

[[nodiscard]] CommandLife life_of_command(const Recording& recording, trace::Delay run);

// The sentences of its causes. If it waited mostly for several children, one after the other, a
// further sentence says what the processes of one name did in that time: "Of this, cc1plus
// (2 processes) computed for 6.22 s (98 %)."
[[nodiscard]] std::vector<std::string> life_sentences(const CommandLife& life);

}  // namespace lagtrap::analysis
