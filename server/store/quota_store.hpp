// Stores how much each sender uploaded on a day.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace lagtrap::server {

class SqlSession;

// Uploads of all senders on a day.
struct QuotaUse {
    std::uint64_t senders = 0;    // that uploaded anything
    std::uint64_t max_bytes = 0;  // of a single sender
};

// The rules of Store apply.
class QuotaStore {
  public:
    explicit QuotaStore(SqlSession& session) : session_(&session) {}

    // Charges bytes to a sender's day (in UTC days since 1970), across all servers of the store,
    // unless the total would exceed `limit_bytes`. Returns whether they were charged.
    [[nodiscard]] Result<bool> take_quota(const std::string& sender, std::uint64_t day,
                                          std::uint64_t bytes, std::uint64_t limit_bytes) const;
    // Refunds bytes that were charged but not received.
    [[nodiscard]] Status give_back_quota(const std::string& sender, std::uint64_t day,
                                         std::uint64_t bytes) const;
    [[nodiscard]] Result<QuotaUse> quota_use(std::uint64_t day) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
