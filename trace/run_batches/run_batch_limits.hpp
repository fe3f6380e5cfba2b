// What a batch of runs may hold beside the limits of trace/run_batches/run_batch.hpp, the same for writing and for reading.
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
inline constexpr std::size_t run_batch_frames_limit = 200'000;  // of all stacks together
inline constexpr std::size_t run_batch_stages_limit = 400'000;  // of all runs together
inline constexpr std::size_t run_batch_stack_frames_limit = 1024;
inline constexpr std::size_t run_batch_run_stages_limit = 64;
// Texts as they are spelled out in frames and runs: a long text may be named often.
inline constexpr std::size_t run_batch_spelled_limit_bytes = 32 << 20;
inline constexpr std::uint32_t run_batch_known_dirty_reasons = 63;
inline constexpr std::uint64_t run_batch_duration_limit_ns = 400ULL * 86400 * 1'000'000'000;

// "BATCH has COUNT THINGS; at most LIMIT are allowed" where there are too many.
[[nodiscard]] inline Status check_count(std::string_view things, std::size_t count, std::size_t limit) {
    if (count <= limit) return success();
    return make_error(ErrorKind::TooLarge, "a batch of runs with " + std::to_string(count) + " " + std::string(things) +
                                               "; at most " + std::to_string(limit) + " are allowed");
}

// What holds of a run whoever made it: an event, a weight, stages in order and inside of the run, stacks that exist.
[[nodiscard]] Status check_recorded_run(const RecordedRun& run, std::size_t stacks);

// A UUID, a number, lines of printable text that look like objects of JSON, within objects_part_limit_bytes.
[[nodiscard]] Status check_objects_part(const ObjectsPart& part);

}  // namespace lagtrap::trace
