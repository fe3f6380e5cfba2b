#include "daemon/processes/look_budget.hpp"

#include <algorithm>
#include <iterator>

namespace lagtrap::daemon {
namespace {

// With more active users than this, the individual budgets are not kept; only the common one
// applies.
constexpr std::size_t users_limit = 1'024;

}  // namespace

void LookBudget::Bucket::drain(int part, Clock::time_point now) {
    content = std::max(Clock::duration(0), content - (now - drained) / part);
    drained = now;
}

// Removes users who have used nothing lately and were never delayed.
void LookBudget::make_room(Clock::time_point now) {
    if (users_.size() < users_limit) return;
    for (auto user = users_.begin(); user != users_.end();) {
        user->second.bucket.drain(part_of_user, now);
        const bool idle =
            user->second.bucket.content == Clock::duration(0) && user->second.put_off == 0;
        user = idle ? users_.erase(user) : std::next(user);
    }
    if (users_.size() >= users_limit) users_.erase(users_.begin());
}

bool LookBudget::may_look(Party user, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (!users_.contains(user)) make_room(now);
    User& of_user = users_[user];
    of_user.bucket.drain(part_of_user, now);
    all_.drain(part_of_all, now);
    if (of_user.bucket.content < burst_of_user && all_.content < burst_of_all) return true;
    ++of_user.put_off;
    return false;
}

void LookBudget::note_put_off(Party user) {
    const std::lock_guard lock(mutex_);
    ++users_[user].put_off;
}

void LookBudget::charge(Party user, Clock::duration cost, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    User& of_user = users_[user];
    ++of_user.looks;
    of_user.bucket.drain(part_of_user, now);
    all_.drain(part_of_all, now);
    of_user.bucket.content += cost;
    all_.content += cost;
}

std::vector<LookBudget::Limited> LookBudget::limited() const {
    std::vector<Limited> limited;
    const std::lock_guard lock(mutex_);
    for (const auto& [user, of_user] : users_)
        if (of_user.put_off != 0) limited.push_back({user, of_user.looks, of_user.put_off});
    return limited;
}

}  // namespace lagtrap::daemon
