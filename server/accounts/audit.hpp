// The record of who did what: signing in, well and in vain, accounts, tokens, what was removed. Each entry is kept in the
// store, where nothing but its age removes it, and said in the program's log.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "server/accounts/principal.hpp"
#include "server/accounts/rate_limit.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

// The action of a refused sign-in, by password or by single sign-on.
inline constexpr const char* refused_sign_in = "refuse sign-in";

// Any thread; blocks on the store.
class Audit {
  public:
    using Log = std::function<void(const std::string&)>;
    Audit(AccountStore& store, Log log);

    // `action` in the imperative: "add account". That an entry cannot be kept undoes nothing; it is logged, and counted.
    void note(const std::string& who, const char* action, const std::string& object, const std::string& detail);
    // The same, of a sender whom nobody knows: one entry a minute for each and each action, and of all together one a second,
    // so that a flood of attempts is no flood of entries. What has no entry of its own is counted.
    void note_unknown(const std::string& sender, const char* action, const std::string& detail) {
        note_often({}, action, sender, detail);
    }
    // The same limits for what somebody known may cause again and again.
    void note_often(const std::string& who, const char* action, const std::string& sender, const std::string& detail);

    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  private:
    AccountStore& store_;
    Log log_;
    RateLimit often_;      // by action and sender
    RateLimit all_often_;  // together
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<std::uint64_t> left_out_{0};
};

// As entries name who asks: the account, "token NAME", or that the server is open to its machine.
[[nodiscard]] std::string who_of(const Principal& principal);

}  // namespace lagtrap::server
