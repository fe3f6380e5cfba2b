#include "server/accounts/sign_in_limits.hpp"

namespace lagtrap::server {
namespace {

// A sender contains no spaces, so two pairs never share a key.
std::string pair_of(const std::string& account, const std::string& sender) {
    return account + " " + sender;
}

}  // namespace

void KnownSenders::add(const std::string& pair) {
    const std::lock_guard lock(mutex_);
    if (const auto found = pairs_.find(pair); found != pairs_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        return;
    }
    if (pairs_.size() >= limit_) {
        pairs_.erase(order_.back());
        order_.pop_back();
    }
    order_.push_front(pair);
    pairs_.emplace(pair, order_.begin());
}

bool KnownSenders::contains(const std::string& pair) {
    const std::lock_guard lock(mutex_);
    return pairs_.contains(pair);
}

SignInLimits::Attempt SignInLimits::take(const std::string& account, const std::string& sender,
                                         const std::function<bool()>& signed_in_before,
                                         Clock::time_point now) {
    const std::string pair = pair_of(account, sender);
    if (const auto wait = pairs_.take(pair, 1, now); wait.count() > 0) return {wait};
    if (const auto wait = senders_.take(sender, 1, now); wait.count() > 0) {
        pairs_.give_back(pair, 1);
        return {wait};
    }
    if (known_.contains(pair)) return {};
    const auto wait = accounts_.take(account, 1, now);
    if (wait.count() == 0) return {wait, true};
    if (signed_in_before()) return {};
    senders_.give_back(sender, 1);
    pairs_.give_back(pair, 1);
    return {wait};
}

void SignInLimits::succeeded(const std::string& account, const std::string& sender,
                             const Attempt& attempt) {
    const std::string pair = pair_of(account, sender);
    pairs_.give_back(pair, 1);
    senders_.give_back(sender, 1);
    if (attempt.took_of_account) accounts_.give_back(account, 1);
    known_.add(pair);
}

}  // namespace lagtrap::server
