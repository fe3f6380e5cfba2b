// Limits of attempts to sign in that fail.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "server/accounts/rate_limit.hpp"

namespace lagtrap::server {

// Pairs of account and sender that have signed in; at most 10,000, the ones seen longest ago go first. Any thread.
class KnownSenders {
  public:
    explicit KnownSenders(std::size_t limit = 10'000) : limit_(limit) {}
    void add(const std::string& pair);
    [[nodiscard]] bool contains(const std::string& pair);

  private:
    const std::size_t limit_;
    std::mutex mutex_;
    std::list<std::string> order_;  // added last comes first
    std::unordered_map<std::string, std::list<std::string>::iterator> pairs_;
};

// An attempt asks the buckets of its pair of account and sender, of its sender, and of its account, and stops at the first
// that refuses, which costs the others nothing: one sender cannot empty an account's bucket, which fills faster than one
// sender may take from it. Senders that signed in to the account before need nothing of that bucket, so that many others
// cannot shut them out. Any thread.
class SignInLimits {
  public:
    using Clock = RateLimit::Clock;

    struct Attempt {
        std::chrono::milliseconds wait{0};  // zero: it may be made; else how long to wait
        bool took_of_account = false;
    };

    // `account`: as typed, whether it exists or not; `sender`: network_of_sender(). `signed_in_before`, asked only where the
    // account's bucket refuses: whether the store knows that this sender has signed in.
    [[nodiscard]] Attempt take(const std::string& account, const std::string& sender,
                               const std::function<bool()>& signed_in_before, Clock::time_point now);
    // The password was right: what it took is given back, and the sender is known from now on.
    void succeeded(const std::string& account, const std::string& sender, const Attempt& attempt);

  private:
    // Ten at once, then one in six seconds.
    RateLimit pairs_{{10.0 / 60, 10}};
    RateLimit senders_{{0.5, 60}};
    RateLimit accounts_{{1, 60}};
    KnownSenders known_;
};

}  // namespace lagtrap::server
