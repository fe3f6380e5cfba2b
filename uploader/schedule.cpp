#include "uploader/schedule.hpp"

#include <algorithm>
#include <set>

namespace lagtrap::uploader {

void Schedule::State::note(TimePoint now, std::optional<std::chrono::seconds> retry_after, double share) {
    ++history.failures;
    history.last_failure = now;
    history.retry_after = retry_after;
    random = share;
}

Schedule::Choice Schedule::choose(const std::vector<std::string>& names, TimePoint now) {
    const std::set<std::string> present(names.begin(), names.end());
    std::erase_if(bundles_, [&](const auto& known) { return !present.contains(known.first); });
    Choice choice;
    for (const std::string& name : names) {
        const auto known = bundles_.find(name);
        const TimePoint own = known == bundles_.end() ? now : known->second.due(now);
        const TimePoint due = std::max(own, server_.due(now));
        if (due <= now) return {name, std::nullopt};
        choice.wake = choice.wake ? std::min(*choice.wake, due) : due;
    }
    return choice;
}

void Schedule::note_failure(const std::string& name, long status, std::optional<std::chrono::seconds> retry_after,
                            TimePoint now, double random) {
    State& state = concerns_all_bundles(status) ? server_ : bundles_[name];
    state.note(now, retry_after, random);
}

void Schedule::note_success(const std::string& name) {
    server_ = {};
    bundles_.erase(name);
}

}  // namespace lagtrap::uploader
