// Stores the audit log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

class SqlSession;

struct AuditEntry {
    std::uint64_t number = 0;  // set by add_audit()
    std::uint64_t at_realtime_ns = 0;
    std::string who;
    std::string action;
    std::string object;
    std::string detail;
};

// Which audit entries to return: all, sign-ins (including sign-outs and attempts), or refusals.
enum class AuditPart : std::uint8_t { All, SignIns, Refusals };

// The rules of Store apply.
class AuditStore {
  public:
    explicit AuditStore(SqlSession& session) : session_(&session) {}

    // Kept for 400 days; of entries whose action begins with "refuse", the newest 100,000.
    [[nodiscard]] Status add_audit(const AuditEntry& entry) const;
    // Newest first. With `before`, only entries with lower numbers.
    [[nodiscard]] Result<std::vector<AuditEntry>> list(std::uint32_t limit,
                                                       std::optional<std::uint64_t> before,
                                                       AuditPart part) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
