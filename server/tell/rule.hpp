// A rule: of what to tell, whom, and when. As openapi.yaml's NewRule has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "core/result.hpp"

namespace lagtrap::server {

enum class Condition { NewCause, CauseCameBack, P99, DelayShare, HostSilent, RunsLost };
enum class Way { Webhook, Email, Slack, Alertmanager };

// Minutes of the day by the clocks of a zone; may pass midnight.
struct QuietHours {
    std::uint32_t from_min = 0, to_min = 0;
    std::string zone = "UTC";  // of the time zone database

    // Minute `to_min` is no longer quiet. Errors are those of zone_offset_s().
    [[nodiscard]] Result<bool> holds(std::uint64_t realtime_ns) const;
};

struct Rule {
    Condition condition = Condition::NewCause;
    std::string event;  // of causes, p99 and shares; empty: each event
    std::string host;   // of silence and losses; empty: each host
    // One of these two, with P99 (over_ns) or DelayShare (over_share): the value itself, or its factor over that of the
    // same hours a week before.
    std::optional<std::uint64_t> over_ns;
    std::optional<double> over_share;
    std::optional<double> factor;
    std::uint32_t hours = 2;         // of UTC, the running one among them; with P99, DelayShare, RunsLost
    std::uint64_t least_runs = 100;  // fewer tell nothing; with P99, DelayShare
    std::uint64_t silent_ns = 0;     // with HostSilent
    std::uint64_t over_runs = 0;     // with RunsLost

    Way way = Way::Webhook;
    std::string
        address;       // http(s)://..., of Email smtp(s)://...; of Slack, whose addresses are secrets, the host alone
    std::string from;  // of Email
    std::vector<std::string> to;
    std::string user;  // of Email and Alertmanager

    std::optional<QuietHours> quiet;
    bool tell_ends = false;
    std::uint64_t repeat_ns = 0;  // what is told is told again after so long while it stays; 0: never
};

// What is wrong is one sentence that names the member; members that do not go with condition or way are refused.
[[nodiscard]] Result<Rule> read_rule(const boost::json::object& object);
// What read_rule() reads, without secrets.
[[nodiscard]] boost::json::object rule_json(const Rule& rule);
[[nodiscard]] Result<Rule> parse_rule(const std::string& definition);

[[nodiscard]] std::string_view name_of(Condition condition);
[[nodiscard]] std::string_view name_of(Way way);

// Whether what a rule found under one holds under the other.
[[nodiscard]] bool same_condition(const Rule& a, const Rule& b);
// Whether a secret that was given for one may go where the other tells.
[[nodiscard]] bool same_receiver(const Rule& a, const Rule& b);

// "https://host/..." of an address whose path is a secret.
[[nodiscard]] std::string masked_address(const std::string& address);

}  // namespace lagtrap::server
