// An answer that costs something to make, and that anybody may ask for: kept for a moment, so that who asks in a loop costs
// no more than ten answers a second.
#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace lagtrap::daemon {

// One thread's.
class KeptAnswer {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds life{100};

    // nullptr: there is none, or it is too old. Valid until the next call.
    [[nodiscard]] const std::string* at(TimePoint now) const {
        return !text_.empty() && now - made_ < life ? &text_ : nullptr;
    }
    void keep(std::string text, TimePoint now) {
        text_ = std::move(text);
        made_ = now;
    }
    // Something has changed.
    void forget() { text_.clear(); }

  private:
    std::string text_;
    TimePoint made_{};
};

}  // namespace lagtrap::daemon
