// Field numbers of a batch of runs, by message. They are ours; never reuse one. Texts, other than
// those of the head, are indexes into the batch's list of texts, plus 1; 0 is the empty text.
#pragma once

#include <cstdint>

namespace lagtrap::trace::run_batch_fields {

namespace batch {
inline constexpr std::uint32_t id = 1;
inline constexpr std::uint32_t host = 2;
inline constexpr std::uint32_t boot_id = 3;
inline constexpr std::uint32_t session_hint = 4;
inline constexpr std::uint32_t version = 5;
inline constexpr std::uint32_t made_realtime_ns = 6;
inline constexpr std::uint32_t runs_sampled_away = 7;
inline constexpr std::uint32_t runs_lost = 8;
inline constexpr std::uint32_t text = 9;    // repeated
inline constexpr std::uint32_t stack = 10;  // repeated
inline constexpr std::uint32_t run = 11;    // repeated
inline constexpr std::uint32_t objects = 12;
}  // namespace batch

namespace objects {
inline constexpr std::uint32_t watch_id = 1;
inline constexpr std::uint32_t number = 2;
inline constexpr std::uint32_t pid = 3;
inline constexpr std::uint32_t process = 4;
inline constexpr std::uint32_t lost_lines = 5;
inline constexpr std::uint32_t last = 6;
inline constexpr std::uint32_t lines = 7;
}  // namespace objects

namespace stack {
inline constexpr std::uint32_t frame = 1;  // repeated
}

namespace frame {
inline constexpr std::uint32_t module = 1;
inline constexpr std::uint32_t build_id = 2;
inline constexpr std::uint32_t offset = 3;
inline constexpr std::uint32_t function = 4;
inline constexpr std::uint32_t file = 5;
inline constexpr std::uint32_t line = 6;
}  // namespace frame

namespace run {
inline constexpr std::uint32_t event = 1;
inline constexpr std::uint32_t begin_realtime_ns = 2;
inline constexpr std::uint32_t duration_ns = 3;
inline constexpr std::uint32_t threshold_ns = 4;
inline constexpr std::uint32_t key = 5;
inline constexpr std::uint32_t pid = 6;
inline constexpr std::uint32_t begin_tid = 7;
inline constexpr std::uint32_t end_tid = 8;
inline constexpr std::uint32_t thread = 9;
inline constexpr std::uint32_t process = 10;
inline constexpr std::uint32_t executable = 11;
inline constexpr std::uint32_t build_id = 12;
inline constexpr std::uint32_t user = 13;
inline constexpr std::uint32_t start = 14;
inline constexpr std::uint32_t delay = 15;
inline constexpr std::uint32_t aborted = 16;
inline constexpr std::uint32_t weight = 17;
inline constexpr std::uint32_t begin_stack = 18;
inline constexpr std::uint32_t end_stack = 19;
inline constexpr std::uint32_t stage = 20;  // repeated
inline constexpr std::uint32_t dirty_reasons = 21;
inline constexpr std::uint32_t times = 22;
inline constexpr std::uint32_t unit = 23;
inline constexpr std::uint32_t without_stages = 24;
}  // namespace run

namespace times {
inline constexpr std::uint32_t on_cpu_ns = 1;
inline constexpr std::uint32_t runnable_ns = 2;
inline constexpr std::uint32_t throttled_ns = 3;
inline constexpr std::uint32_t handed_over_ns = 4;
// of lagtrap_wait_class 0; the other classes follow
inline constexpr std::uint32_t blocked_ns = 16;
inline constexpr std::uint32_t blocked_last = 16 + 63;
}  // namespace times

namespace stage {
inline constexpr std::uint32_t name = 1;
inline constexpr std::uint32_t at_ns = 2;
inline constexpr std::uint32_t tid = 3;
inline constexpr std::uint32_t stack = 4;
}  // namespace stage

}  // namespace lagtrap::trace::run_batch_fields
