// Limits of a batch of runs in addition to those in trace/run_batches/run_batch.hpp, for writing
// and reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::trace {

inline constexpr std::size_t run_batch_texts_limit = 100'000;
inline constexpr std::size_t run_batch_text_limit_bytes = 4096;
inline constexpr std::size_t run_batch_stacks_limit = 20'000;
inline constexpr std::size_t run_batch_frames_limit = 200'000;  // all stacks together
inline constexpr std::size_t run_batch_stages_limit = 400'000;  // all runs together
inline constexpr std::size_t run_batch_stack_frames_limit = 1024;
inline constexpr std::size_t run_batch_run_stages_limit = 64;
// Total size of texts as spelled out in frames and runs, because a long text can be referenced
// often.
inline constexpr std::size_t run_batch_spelled_limit_bytes = 32 << 20;
inline constexpr std::uint32_t run_batch_known_dirty_reasons = 63;
inline constexpr std::uint64_t run_batch_duration_limit_ns = 400ULL * 86400 * 1'000'000'000;

// "a batch of runs with COUNT THINGS; at most LIMIT are allowed" if there are too many.
[[nodiscard]] inline Status check_count(std::string_view things, std::size_t count,
                                        std::size_t limit) {
    if (count <= limit) return success();
    return make_error(ErrorKind::TooLarge, "a batch of runs with " + std::to_string(count) + " " +
                                               std::string(things) + "; at most " +
                                               std::to_string(limit) + " are allowed");
}

// Checks what every run must satisfy: an event, a weight, stages in order and within the run,
// stacks that exist.
[[nodiscard]] Status check_recorded_run(const RecordedRun& run, std::size_t stacks);

// Checks for a UUID, a number, and lines of printable text that look like JSON objects, within
// objects_part_limit_bytes.
[[nodiscard]] Status check_objects_part(const ObjectsPart& part);

}  // namespace lagtrap::trace
