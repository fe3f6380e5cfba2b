#include "server/store/audit_store.hpp"

#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

AuditEntry read_audit(const Rows& rows) {
    return {rows.natural(0), rows.natural(1), rows.text(2),
            rows.text(3),    rows.text(4),    rows.text(5)};
}

}  // namespace

Status AuditStore::add_audit(const AuditEntry& entry) const {
    const std::string who = stored_text(entry.who), action = stored_text(entry.action),
                      object = stored_text(entry.object), detail = stored_text(entry.detail);
    return session_->change_only(
        "INSERT INTO audit(at_ns, who, action, object, detail) VALUES($1,$2,$3,$4,$5)",
        {entry.at_realtime_ns, who, action, object, detail});
}

Result<std::vector<AuditEntry>> AuditStore::list(std::uint32_t limit,
                                                 std::optional<std::uint64_t> before,
                                                 AuditPart part) const {
    const std::string only = part == AuditPart::SignIns
                                 ? " AND action IN ('sign in', 'sign out', 'refuse sign-in')"
                             : part == AuditPart::Refusals ? " AND action LIKE 'refuse %'"
                                                           : "";
    return session_->select_all(
        "SELECT id, at_ns, who, action, object, detail FROM audit WHERE id < $1" + only +
            " ORDER BY id DESC LIMIT $2",
        {before.value_or(INT64_MAX), limit}, read_audit);
}

}  // namespace lagtrap::server
