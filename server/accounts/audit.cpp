#include "server/accounts/audit.hpp"

#include <utility>

#include "core/clock.hpp"
#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr Rate often_rate{1.0 / 60, 1};
constexpr Rate all_often_rate{1, 60};

}  // namespace

Audit::Audit(AuditStore store, Log log)
    : store_(store), log_(std::move(log)), often_(often_rate), all_often_(all_often_rate) {}

void Audit::note(const std::string& who, const char* action, const std::string& object,
                 const std::string& detail) {
    AuditEntry entry;
    entry.at_realtime_ns = ClockSnapshot::take().realtime_ns;
    entry.who = printable(who);
    entry.action = action;
    entry.object = printable(object);
    entry.detail = printable(detail);
    std::string line = "audit: " + (entry.who.empty() ? std::string("nobody known") : entry.who) +
                       ": " + entry.action;
    if (!entry.object.empty()) line += " " + entry.object;
    if (!entry.detail.empty()) line += " (" + entry.detail + ")";
    log_(line);
    const Status kept = store_.add_audit(entry);
    if (kept) return;
    ++lost_;
    log_("the audit lacks the entry before: " + kept.error().message);
}

void Audit::note_often(const std::string& who, const char* action, const std::string& sender,
                       const std::string& detail) {
    const auto now = RateLimit::Clock::now();
    const bool has_entry = often_.take(std::string(action) + " " + sender, 1, now).count() == 0 &&
                           all_often_.take("all", 1, now).count() == 0;
    if (has_entry) return note(who, action, {}, detail);
    ++left_out_;
}

std::string who_of(const Principal& principal) {
    switch (principal.kind) {
        case Principal::Kind::Session: return principal.name;
        case Principal::Kind::Token: return "token " + principal.name;
        case Principal::Kind::Local: return "anyone on this machine";
        case Principal::Kind::Anybody: break;
    }
    return {};
}

}  // namespace lagtrap::server
