#include "uploader/retry_policy.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace lagtrap::uploader {

TimePoint next_attempt(TimePoint now, const AttemptHistory& history, double random) {
    if (history.failures == 0) return now;
    constexpr std::uint32_t doublings_to_cap = 10;  // 2^10 s exceeds the cap
    const auto exponential = retry_base * (1LL << std::min(history.failures - 1, doublings_to_cap));
    const std::chrono::duration<double> ceiling =
        std::min<std::chrono::seconds>(exponential, retry_cap);
    auto wait =
        std::chrono::duration_cast<TimePoint::duration>(ceiling * std::clamp(random, 0.0, 1.0));
    if (history.retry_after) wait = std::max<TimePoint::duration>(wait, *history.retry_after);
    return std::min(history.last_failure, now) + wait;
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view header,
                                                      std::time_t wall_clock) {
    const std::size_t first = header.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::nullopt;
    header = header.substr(first, header.find_last_not_of(" \t\r\n") - first + 1);
    const long long cap_s =
        std::chrono::duration_cast<std::chrono::seconds>(retry_after_cap).count();

    if (header.find_first_not_of("0123456789") == std::string_view::npos) {
        long long seconds = 0;
        const auto parsed = std::from_chars(header.data(), header.data() + header.size(), seconds);
        if (parsed.ec == std::errc::result_out_of_range) seconds = cap_s;
        return std::chrono::seconds(std::min(seconds, cap_s));
    }
    constexpr std::size_t max_date = 64;
    // A date starts with the name of the day. Without this check, curl_getdate would accept "-5"
    // and worse.
    if (header.size() > max_date || header.find(',') == std::string_view::npos) return std::nullopt;
    const std::time_t date = curl_getdate(std::string(header).c_str(), nullptr);
    if (date == -1) return std::nullopt;
    return std::chrono::seconds(
        std::clamp<long long>(static_cast<long long>(date) - wall_clock, 0, cap_s));
}

Verdict verdict_of_status(long status) {
    if (status >= 200 && status < 300) return Verdict::Delivered;
    if (status == 400 || status == 413 || status == 415 || status == 422) return Verdict::Rejected;
    return Verdict::TryLater;
}

bool concerns_all_bundles(long status) {
    if (status == 0 || (status >= 300 && status < 400)) return true;
    return status == 401 || status == 403 || status == 408 || status == 429 ||
           (status >= 502 && status <= 504);
}

}  // namespace lagtrap::uploader
