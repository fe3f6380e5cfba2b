// The audit log: sign-ins and refused attempts, changes to accounts and tokens, deletions. Each
// entry goes to the store, where only its age removes it, and to the program's log.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "server/accounts/principal.hpp"
#include "server/accounts/rate_limit.hpp"
#include "server/store/audit_store.hpp"

namespace lagtrap::server {

// Action of a refused sign-in, with a password or through single sign-on.
inline constexpr const char* refused_sign_in = "refuse sign-in";

// Writes audit entries. Any thread; blocks on the store.
class Audit {
  public:
    using Log = std::function<void(const std::string&)>;
    Audit(AuditStore store, Log log);

    // `action` is an imperative: "add account". If the store does not take the entry, the action is
    // not undone; the failure is logged and counted.
    void note(const std::string& who, const char* action, const std::string& object,
              const std::string& detail);
    // Like note(), for an unknown sender. To keep a flood of attempts out of the log, at most one
    // entry a minute per sender and action, and one a second in total. Entries over the limit are
    // only counted.
    void note_unknown(const std::string& sender, const char* action, const std::string& detail) {
        note_often({}, action, sender, detail);
    }
    // The same limits, for what a known principal can trigger again and again.
    void note_often(const std::string& who, const char* action, const std::string& sender,
                    const std::string& detail);

    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  private:
    const AuditStore store_;
    Log log_;
    RateLimit often_;      // per action and sender
    RateLimit all_often_;  // all senders together
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<std::uint64_t> left_out_{0};
};

// The name of the requester in audit entries: the account, "token NAME", or that the server is open
// to its machine.
[[nodiscard]] std::string who_of(const Principal& principal);

}  // namespace lagtrap::server
