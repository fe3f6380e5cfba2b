// Decisions of the recorder. Uses neither the kernel nor a clock.
#pragma once

#include <cstdint>
#include <string>

#include "bpf/event_monitor.h"
#include "bpf/recorder.h"
#include "bpf/records.h"

namespace lagtrap::daemon {

// 4 MiB of ring per CPU hold 8 s of samples and 65,000 switches. The total is limited for small
// machines.
[[nodiscard]] std::uint32_t ring_bytes_for(long cpus);

// Estimated cost of the history, from its records and the machine's context switches.
[[nodiscard]] std::uint64_t history_cost_of(const lagtrap_capture_counters& counted,
                                            std::uint64_t context_switches);

enum class RecordTarget { Nowhere, Recording, History };
// `records`: there is a receiver of a recording's records; `keeps_history`: there is a history.
[[nodiscard]] RecordTarget target_of(const lagtrap_record* record, bool records,
                                     bool keeps_history);

// True for a run that ended before the recording, other than the one that began it: a run whose
// deadline was reported is reported again when it ends, perhaps after its capture.
[[nodiscard]] bool is_of_earlier_capture(const lagtrap_record* record, std::uint64_t started_ns,
                                         std::uint64_t trigger_begin_ns);

// Id of the container of a process's record, with its texts behind it; empty if it is in none.
[[nodiscard]] std::string container_of(const lagtrap_process& process);

// Parts that a recording lacks.
[[nodiscard]] std::string gap_of_cpu(int cpu, bool is_sampled_again);
[[nodiscard]] std::string gap_of_open_runs(std::uint64_t left_out, std::uint64_t recorded);

}  // namespace lagtrap::daemon
