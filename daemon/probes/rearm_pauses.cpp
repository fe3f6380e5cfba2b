#include "daemon/probes/rearm_pauses.hpp"

#include <algorithm>

namespace lagtrap::daemon {

std::chrono::seconds RearmPauses::left(Clock::time_point now) const {
    return over(now) ? std::chrono::seconds(0)
                     : std::chrono::ceil<std::chrono::seconds>(next_ - now);
}

void RearmPauses::begin(Clock::time_point now) {
    const bool calm = count_ == 0 || now - next_ >= pause_;
    pause_ = calm ? shortest : std::min(2 * pause_, longest);
    next_ = now + pause_;
    ++count_;
}

}  // namespace lagtrap::daemon
