#include "analysis/open_delay.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "core/duration.hpp"

namespace lagtrap::analysis {

namespace {

// Maximum trace length in the settings: 10 minutes.
constexpr std::uint64_t max_trace_ns = 600'000'000'000;
constexpr std::uint64_t advised_factor = 4;

// "1500ms", "16s": a whole number in the largest unit that allows one.
std::string setting_of(std::uint64_t duration_ns) {
    constexpr std::uint64_t ms = 1'000'000;
    constexpr std::uint64_t s = 1'000 * ms;
    if (duration_ns % s == 0) return fmt::format("{}s", duration_ns / s);
    if (duration_ns % ms == 0) return fmt::format("{}ms", duration_ns / ms);
    return fmt::format("{}us", duration_ns / 1000);
}

bool was_abandoned(const Recording& recording, const trace::Delay& delay) {
    return std::any_of(recording.runs.begin(), recording.runs.end(),
                       [&](const auto& run) { return run.id == delay.run_id && run.abandoned; });
}

}  // namespace

std::string open_delay_note(const Recording& recording, const trace::Delay& delay) {
    const trace::SystemFile& system = recording.system;
    if (!delay.open) return {};
    if (was_abandoned(recording, delay) ||
        (delay.first && system.end == trace::RecordingEnd::RunGone))
        return "none: the run's thread or process ended, or an exception left it";
    if (!delay.first) return {};
    const std::string stopped =
        fmt::format("the run had not ended when the recording stopped after {}",
                    format_duration_ns(system.length_ns));
    if (system.end == trace::RecordingEnd::Size)
        return stopped + ", at its size limit (capture-size-limit)";
    if (system.end != trace::RecordingEnd::Limit && system.end != trace::RecordingEnd::Length)
        return {};
    const std::uint64_t limit_ns = std::min(system.trace_length_limit_ns, max_trace_ns);
    const std::uint64_t advised_ns = std::min(limit_ns * advised_factor, max_trace_ns);
    if (system.trace_length_ns == 0 || advised_ns <= limit_ns) return stopped;
    return fmt::format("{}; trace-length=\"{}..{}\" may show its end", stopped,
                       setting_of(system.trace_length_ns), setting_of(advised_ns));
}

}  // namespace lagtrap::analysis
