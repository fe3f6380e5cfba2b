#include "server/api/upload_limits.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/duration.hpp"
#include "server/ingest/ingest.hpp"

namespace lagtrap::server {

std::variant<UploadShare, Refusal> UploadLimits::take(const std::string& sender,
                                                      const std::string& who, std::uint64_t bytes,
                                                      std::uint64_t now_ns) {
    const auto wait = rate_.take(sender, static_cast<double>(bytes), RateLimit::Clock::now());
    if (wait.count() > 0) return too_many("too many bytes in a short time", wait);
    UploadPlace place(running_, at_once_);
    if (!place.valid()) return too_many("too many uploads at once", std::chrono::seconds(5));
    auto quota = take_daily(sender, who, bytes, now_ns);
    if (const auto* refusal = std::get_if<Refusal>(&quota)) return *refusal;
    return UploadShare{std::move(place), std::get<DailyQuota::Share>(std::move(quota))};
}

std::variant<DailyQuota::Share, Refusal> UploadLimits::take_daily(const std::string& sender,
                                                                  const std::string& who,
                                                                  std::uint64_t bytes,
                                                                  std::uint64_t now_ns) {
    const std::string limit = format_byte_size(daily_.limit_bytes());
    // No day has room for this upload, so do not ask the sender to try again.
    if (daily_.limit_bytes() > 0 && bytes > daily_.limit_bytes())
        return Refusal{413,
                       fmt::format("the upload has {}; a sender may bring {} a day (--daily-quota)",
                                   format_byte_size(bytes), limit)};
    auto taken = daily_.take(sender, bytes, now_ns);
    if (!taken) return Ingest::refusal_of(taken.error());
    if (*taken) return std::move(**taken);
    ++counters_.uploads_over_quota;
    audit_.note_often(who, "refuse upload", sender, "its quota of today is used up");
    const auto wait = DailyQuota::until_next_day(now_ns);
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(wait).count();
    return Refusal{
        429,
        fmt::format("the quota of this sender for today is used up ({}, --daily-quota)", limit),
        fmt::format("it opens again at 00:00 UTC, in {} h {} min", minutes / 60, minutes % 60),
        wait};
}

}  // namespace lagtrap::server
