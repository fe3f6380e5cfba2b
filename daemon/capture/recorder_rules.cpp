#include "daemon/capture/recorder_rules.hpp"

#include <string_view>

#include "trace/logs/control_group_words.hpp"

namespace lagtrap::daemon {
namespace {

// Costs from docs/performance.md: a stack of 30 frames; two of them for a wait, with its record;
// two lookups in the table of threads, for a switch and a wakeup.
constexpr std::uint64_t sample_cost_ns = 6'000, wait_cost_ns = 12'000, look_cost_ns = 60;

bool is_of_history(const lagtrap_record* record) {
    return record->type == LAGTRAP_RECORD_HISTORY_SAMPLE ||
           record->type == LAGTRAP_RECORD_HISTORY_WAIT;
}

}  // namespace

std::uint32_t ring_bytes_for(long cpus) {
    std::uint64_t bytes = 8ULL << 20;
    while (bytes < static_cast<std::uint64_t>(cpus) * (4ULL << 20) && bytes < (64ULL << 20))
        bytes *= 2;
    return static_cast<std::uint32_t>(bytes);
}

std::uint64_t history_cost_of(const lagtrap_capture_counters& counted,
                              std::uint64_t context_switches) {
    return counted.history_samples * sample_cost_ns + counted.history_waits * wait_cost_ns +
           context_switches * look_cost_ns;
}

RecordTarget target_of(const lagtrap_record* record, bool records, bool keeps_history) {
    if (records && !is_of_history(record)) return RecordTarget::Recording;
    const bool is_wanted = is_of_history(record) || record->type == LAGTRAP_RECORD_STACK;
    return keeps_history && is_wanted ? RecordTarget::History : RecordTarget::Nowhere;
}

bool is_of_earlier_capture(const lagtrap_record* record, std::uint64_t started_ns,
                           std::uint64_t trigger_begin_ns) {
    if (record->type != LAGTRAP_RECORD_RUN) return false;
    const auto& run = *reinterpret_cast<const lagtrap_run*>(record);
    return run.end_ns < started_ns && run.begin_ns != trigger_begin_ns;
}

std::string container_of(const lagtrap_process& process) {
    const std::string_view texts(reinterpret_cast<const char*>(&process + 1), process.text_bytes);
    // Program, command line, control group, each with a terminating NUL.
    std::size_t begin = 0;
    for (int skipped = 0; skipped < 2; ++skipped) {
        const std::size_t end = texts.find('\0', begin);
        if (end == std::string_view::npos) return {};
        begin = end + 1;
    }
    const std::string_view group = texts.substr(begin, texts.find('\0', begin) - begin);
    return trace::container_of_group(group).id;
}

std::string gap_of_cpu(int cpu, bool is_sampled_again) {
    return "samples and process changes of CPU " + std::to_string(cpu) +
           ", which went offline and came back" +
           (is_sampled_again ? ", until they were recorded again" : ", until the end");
}

std::string gap_of_open_runs(std::uint64_t left_out, std::uint64_t recorded) {
    return std::to_string(left_out) + " of the runs that were open, beyond the first " +
           std::to_string(recorded);
}

}  // namespace lagtrap::daemon
