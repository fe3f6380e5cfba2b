// Caches an answer that is expensive to compute and that anybody may request. A client that asks in
// a loop causes at most ten computations a second.
#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace lagtrap::daemon {

// Not thread-safe.
class KeptAnswer {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds life{100};

    // nullptr if there is none or it is too old. Valid until the next call.
    [[nodiscard]] const std::string* at(TimePoint now) const {
        return !text_.empty() && now - made_ < life ? &text_ : nullptr;
    }
    void keep(std::string text, TimePoint now) {
        text_ = std::move(text);
        made_ = now;
    }
    // Call it when something has changed.
    void forget() { text_.clear(); }

  private:
    std::string text_;
    TimePoint made_{};
};

}  // namespace lagtrap::daemon
