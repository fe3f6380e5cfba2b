#include "uploader/schedule.hpp"

#include <algorithm>
#include <set>

#include "uploader/spool.hpp"

namespace lagtrap::uploader {

void Schedule::State::note(TimePoint now, std::optional<std::chrono::seconds> retry_after, double share) {
    ++history.failures;
    history.last_failure = now;
    history.retry_after = retry_after;
    random = share;
}

EntryKind Schedule::kind_of(const std::string& name) {
    const auto parsed = parse_entry_name(name);
    return parsed ? parsed->kind : EntryKind::Bundle;
}

Schedule::Choice Schedule::choose(const std::vector<std::string>& names, TimePoint now) {
    const std::set<std::string> present(names.begin(), names.end());
    std::erase_if(entries_, [&](const auto& known) { return !present.contains(known.first); });
    Choice choice;
    for (const std::string& name : names) {
        const auto known = entries_.find(name);
        const TimePoint own = known == entries_.end() ? now : known->second.due(now);
        const TimePoint due = std::max(own, server_.due(now));
        if (due > now) {
            choice.wake = choice.wake ? std::min(*choice.wake, due) : due;
            continue;
        }
        if (!choice.name) choice.name = name;
        if (kind_of(name) == last_kind_) continue;
        choice.name = name;
        break;
    }
    if (choice.name) {
        last_kind_ = kind_of(*choice.name);
        choice.wake.reset();
    }
    return choice;
}

void Schedule::note_failure(const std::string& name, long status, std::optional<std::chrono::seconds> retry_after,
                            TimePoint now, double random) {
    State& state = concerns_all_bundles(status) ? server_ : entries_[name];
    state.note(now, retry_after, random);
}

void Schedule::note_success(const std::string& name) {
    server_ = {};
    entries_.erase(name);
}

}  // namespace lagtrap::uploader
