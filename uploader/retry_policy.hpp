// Decides when to retry, and what a server's answer means. Pure functions: no clock, network or
// state.
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

// Past attempts for one bundle, or for all bundles at one server.
struct AttemptHistory {
    std::uint32_t failures = 0;  // in a row
    TimePoint last_failure{};
    std::optional<std::chrono::seconds> retry_after;  // from the server's latest answer
};

// Earliest time for the next attempt: `now` without failures, otherwise a random fraction of
// min(retry_cap, retry_base * 2^(failures-1)) after the last failure ("full jitter", Exponential
// Backoff And Jitter, AWS Architecture Blog), but never sooner than the server asked. `random` is
// in [0, 1). If `now` precedes the last failure (the clock was set back), the wait counts from
// `now`.
[[nodiscard]] TimePoint next_attempt(TimePoint now, const AttemptHistory& history, double random);

// Seconds from a Retry-After header (RFC 9110, 10.2.3), which is a number or a date in the format
// of RFC 9110. A date is compared with `wall_clock`, which should be the answer's own Date header
// if it has one. At most retry_after_cap; 0 for a date in the past; nullopt if the header is
// neither.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view header,
                                                                    std::time_t wall_clock);

enum class Verdict {
    Delivered,  // the server has it and confirms that
    Rejected,   // the server will never accept it
    TryLater,
};

// Verdict from an HTTP status alone. 2xx is Delivered only if the answer's digest matches, which
// the caller checks. 400, 413, 415 and 422 are Rejected; all others, including redirects, are
// TryLater.
[[nodiscard]] Verdict verdict_of_status(long status);

// True if a failure concerns the whole server, so that other bundles wait too: no connection
// (status 0), refused tokens (401, 403), redirects, 408, 429, and 502 to 504.
[[nodiscard]] bool concerns_all_bundles(long status);

}  // namespace lagtrap::uploader
