#include "uploader/schedule.hpp"

#include <algorithm>
#include <set>

#include "spool/spool.hpp"

namespace lagtrap::uploader {

void Schedule::State::note(TimePoint now, std::optional<std::chrono::seconds> retry_after,
                           double share) {
    ++history.failures;
    history.last_failure = now;
    history.retry_after = retry_after;
    random = share;
}

spool::EntryKind Schedule::kind_of(const std::string& name) {
    const auto parsed = spool::parse_entry_name(name);
    return parsed ? parsed->kind : spool::EntryKind::Bundle;
}

Schedule::Choice Schedule::choose(const std::vector<std::string>& names, TimePoint now) {
    const std::set<std::string> present(names.begin(), names.end());
    std::erase_if(entries_, [&](const auto& known) { return !present.contains(known.first); });
    Choice choice;
    // [0]: the kind whose turn it is; [1]: the other
    const std::string* best[2] = {nullptr, nullptr};
    for (const std::string& name : names) {
        const auto known = entries_.find(name);
        const TimePoint own = known == entries_.end() ? now : known->second.due(now);
        const TimePoint due = std::max(own, server_.due(now));
        if (due > now) {
            choice.wake = choice.wake ? std::min(*choice.wake, due) : due;
            continue;
        }
        const std::string*& place = best[kind_of(name) == last_kind_ ? 1 : 0];
        if (place == nullptr || failures_of(name) < failures_of(*place)) place = &name;
    }
    if (const std::string* const chosen = best[0] != nullptr ? best[0] : best[1];
        chosen != nullptr) {
        choice.name = *chosen;
        last_kind_ = kind_of(*chosen);
        choice.wake.reset();
    }
    return choice;
}

std::uint32_t Schedule::failures_of(const std::string& name) const {
    const auto known = entries_.find(name);
    return known == entries_.end() ? 0 : known->second.history.failures;
}

std::chrono::milliseconds Schedule::note_failure(const std::string& name, long status,
                                                 std::optional<std::chrono::seconds> retry_after,
                                                 TimePoint now, double random) {
    State& entry = entries_[name];
    entry.note(now, retry_after, random);
    TimePoint due = entry.due(now);
    if (concerns_all_bundles(status)) {
        server_.note(now, retry_after, random);
        due = std::max(due, server_.due(now));
    }
    return std::chrono::ceil<std::chrono::milliseconds>(due - now);
}

void Schedule::note_success(const std::string& name) {
    server_ = {};
    entries_.erase(name);
}

}  // namespace lagtrap::uploader
