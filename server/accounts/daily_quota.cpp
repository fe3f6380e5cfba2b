#include "server/accounts/daily_quota.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t utc_day_ns = 86'400ULL * 1'000'000'000ULL;

}  // namespace

DailyQuota::Share::~Share() {
    if (store_) static_cast<void>(store_->give_back_quota(sender_, day_, bytes_));
}

Result<std::optional<DailyQuota::Share>> DailyQuota::take(const std::string& sender,
                                                          std::uint64_t bytes,
                                                          std::uint64_t realtime_ns) {
    if (limit_bytes_ == 0) return std::optional<Share>(Share());
    const std::uint64_t day = realtime_ns / utc_day_ns;
    TRY_ASSIGN(const bool taken, store_.take_quota(sender, day, bytes, limit_bytes_));
    if (!taken) return std::optional<Share>();
    return std::optional<Share>(Share(store_, sender, day, bytes));
}

Result<QuotaUse> DailyQuota::use(std::uint64_t realtime_ns) {
    if (limit_bytes_ == 0) return QuotaUse{};
    return store_.quota_use(realtime_ns / utc_day_ns);
}

std::chrono::seconds DailyQuota::until_next_day(std::uint64_t realtime_ns) {
    return std::chrono::ceil<std::chrono::seconds>(
        std::chrono::nanoseconds(utc_day_ns - realtime_ns % utc_day_ns));
}

}  // namespace lagtrap::server
