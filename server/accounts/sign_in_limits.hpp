// Rate limits of failed sign-in attempts.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "server/accounts/rate_limit.hpp"

namespace lagtrap::server {

// Pairs of account and sender that have signed in successfully: at most 10,000, the oldest are
// evicted first. Any thread.
class KnownSenders {
  public:
    explicit KnownSenders(std::size_t limit = 10'000) : limit_(limit) {}
    void add(const std::string& pair);
    [[nodiscard]] bool contains(const std::string& pair);

  private:
    const std::size_t limit_;
    std::mutex mutex_;
    std::list<std::string> order_;  // most recently added first
    std::unordered_map<std::string, std::list<std::string>::iterator> pairs_;
};

// Each attempt draws from three buckets: of its account and sender as a pair, of its sender, and of
// its account. If one refuses, the others are not charged. An account's bucket fills faster than
// one sender may draw from it, so one sender cannot lock an account. A sender that has signed in to
// the account before skips that bucket, so many attackers cannot lock its owner out either. Any
// thread.
class SignInLimits {
  public:
    using Clock = RateLimit::Clock;

    struct Attempt {
        std::chrono::milliseconds wait{0};  // zero: allowed; otherwise how long to wait
        bool took_of_account = false;
    };

    // `account` as typed, whether or not it exists; `sender` is a network_of_sender().
    // `signed_in_before` asks the store whether this sender has signed in to the account; called
    // only if the account's bucket refuses.
    [[nodiscard]] Attempt take(const std::string& account, const std::string& sender,
                               const std::function<bool()>& signed_in_before,
                               Clock::time_point now);
    // The password was right: refunds the attempt and remembers the sender.
    void succeeded(const std::string& account, const std::string& sender, const Attempt& attempt);

  private:
    // A burst of 10, then one every 6 s.
    RateLimit pairs_{{10.0 / 60, 10}};
    RateLimit senders_{{0.5, 60}};
    RateLimit accounts_{{1, 60}};
    KnownSenders known_;
};

}  // namespace lagtrap::server
