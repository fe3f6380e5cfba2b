// When to try again, and what an answer of the server means. Pure functions: no clock, no network, no state.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

namespace lagtrap::uploader {

using TimePoint = std::chrono::steady_clock::time_point;

inline constexpr std::chrono::seconds retry_base{1};
inline constexpr std::chrono::minutes retry_cap{15};
inline constexpr std::chrono::hours retry_after_cap{24};

// What has happened so far to one bundle, or to all of them at one server.
struct AttemptHistory {
    std::uint32_t failures = 0;  // in a row
    TimePoint last_failure{};
    std::optional<std::chrono::seconds> retry_after;  // what the server asked for at the last one
};

// The moment before which nothing should be sent: `now` without failures; else a random share of
// min(retry_cap, retry_base * 2^(failures-1)) after the last failure ("full jitter", Exponential Backoff
// And Jitter, AWS Architecture Blog), and never sooner than the server asked. `random` lies in [0, 1).
// If `now` lies before the last failure (a clock that jumped back), the wait counts from `now`.
[[nodiscard]] TimePoint next_attempt(TimePoint now, const AttemptHistory& history, double random);

// Seconds from a Retry-After header (RFC 9110, 10.2.3): a number, or a date as RFC 9110 wants it made. `wall_clock` is the moment
// that a date is compared with: the answer's own Date header if it has one. At most retry_after_cap; a date in the
// past is 0. Nothing for what is neither.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view header, std::time_t wall_clock);

enum class Verdict {
    Delivered,  // the server has it and says so
    Rejected,   // it will never take it
    TryLater,
};

// What to make of an HTTP status alone. 2xx is Delivered only if the answer's digest matches, which the
// caller checks. 400, 413, 415 and 422 are Rejected; all others, redirects among them, are TryLater.
[[nodiscard]] Verdict verdict_of_status(long status);

// Whether a failure concerns the server as a whole, so that the other bundles wait too: no connection
// (status 0), refused tokens (401, 403), redirects, 408, 429, and 502 to 504.
[[nodiscard]] bool concerns_all_bundles(long status);

}  // namespace lagtrap::uploader
