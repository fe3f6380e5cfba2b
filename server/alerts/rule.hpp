// Alert rules: what to report, to whom, and when. Described by NewRule in openapi.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "core/result.hpp"

namespace lagtrap::server {

enum class Condition {
    NewCause,
    CauseCameBack,
    P99,
    DelayShare,
    HostSilent,
    RunsLost,
    GotWorse,
    WeeklyDigest
};
enum class Way { Webhook, Email, Slack, Alertmanager };

// Minutes of the day in a time zone; may span midnight.
struct QuietHours {
    std::uint32_t from_min = 0, to_min = 0;
    std::string zone = "UTC";  // from the time zone database

    // Whether the time is in the quiet hours; minute `to_min` is not. Errors are those of
    // zone_offset_s().
    [[nodiscard]] Result<bool> holds(std::uint64_t realtime_ns) const;
};

struct Rule {
    Condition condition = Condition::NewCause;
    std::string event;  // for causes, p99, shares, regressions and digests; empty: every event
    std::string host;   // for silence and losses; empty: every host
    // For P99 (over_ns) or DelayShare (over_share): either an absolute limit, or `factor`, a limit
    // relative to the same hours a week earlier.
    std::optional<std::uint64_t> over_ns;
    std::optional<double> over_share;
    std::optional<double> factor;
    // hours of UTC including the current one; for P99, DelayShare, RunsLost
    std::uint32_t hours = 2;
    std::uint64_t min_runs = 100;  // with fewer runs the rule does not fire; for P99, DelayShare
    std::uint64_t silent_ns = 0;   // for HostSilent
    std::uint64_t over_runs = 0;   // for RunsLost

    Way way = Way::Webhook;
    // http(s)://...; for Email smtp(s)://...; for Slack, whose address is secret, only the host
    std::string address;
    std::string from;  // for Email
    std::vector<std::string> to;
    std::string user;  // for Email and Alertmanager

    std::optional<QuietHours> quiet;
    bool report_ends = false;
    std::uint64_t repeat_ns = 0;  // interval of repeating a finding while it lasts; 0: never
};

// An error is one sentence that names the member. Refuses members that do not apply to the
// condition or way.
[[nodiscard]] Result<Rule> read_rule(const boost::json::object& object);
// The inverse of read_rule(), without secrets.
[[nodiscard]] boost::json::object rule_json(const Rule& rule);
[[nodiscard]] Result<Rule> parse_rule(const std::string& definition);

[[nodiscard]] std::string_view name_of(Condition condition);
[[nodiscard]] std::string_view name_of(Way way);

// Whether findings under one rule stay valid under the other.
[[nodiscard]] bool same_condition(const Rule& a, const Rule& b);
// Whether the secret of one rule may be sent to the receiver of the other.
[[nodiscard]] bool same_receiver(const Rule& a, const Rule& b);

// "https://host/..." for an address whose path is secret.
[[nodiscard]] std::string masked_address(const std::string& address);

}  // namespace lagtrap::server
