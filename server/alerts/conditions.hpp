// Evaluates the conditions of alert rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/alerts/rule.hpp"
#include "server/reports/event_trend.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Above this, only the number of findings is reported: such a rule is misconfigured.
inline constexpr std::size_t findings_of_look_limit = 1000;
// Causes older than this are not reported, even to a new rule.
inline constexpr std::uint64_t news_lasts_ns = 7ULL * 86'400 * 1'000'000'000;

// One of several things that a finding says.
struct FactLine {
    std::string title;  // a sentence
    std::string event, cause;
    std::string path;  // of the page that shows it
};

// The content of Finding::facts, stored as JSON.
struct Facts {
    std::string title;  // a sentence
    std::string event, host, cause;
    std::string path;             // of the page that shows it
    std::vector<FactLine> lines;  // of a digest

    [[nodiscard]] std::string text() const;
    // Members that cannot be read are empty.
    [[nodiscard]] static Facts parse(const std::string& text);
};

// Runs and delays of an event in a number of hours.
struct Stretch {
    std::uint64_t runs = 0, delays = 0;
    std::uint64_t p99_ns = 0;

    void add(const EventActivity& activity);

  private:
    Sketch durations_;
};

// "2024-10-07 12:00"
[[nodiscard]] std::string utc_minute(std::uint64_t realtime_ns);
// The pages of an event and of a cause.
[[nodiscard]] std::string event_path(const std::string& event);
[[nodiscard]] std::string cause_path(std::uint64_t cause);
// "checkout got worse at 2024-10-07 12:00 UTC, with build v1.1: p99 5.00 ms, before 2.00 ms." Needs
// EventTrend::lasting.
[[nodiscard]] std::string worsening_title(const reports::EventTrend& trend);
// "12 delays on 3 hosts"
[[nodiscard]] std::string extent_text(std::uint64_t delays, std::uint64_t hosts);
// The trends of one event, or of all if `event` is empty, judged together.
[[nodiscard]] Result<std::vector<reports::EventTrend>> read_trends(Store& store, Filter filter,
                                                                   std::uint64_t now_ns);

// The finding of a P99 or DelayShare rule for an event, if any. `week_before` covers the same hours
// a week earlier.
[[nodiscard]] std::optional<Finding> judge(const Rule& rule, const std::string& event,
                                           const Stretch& now, const Stretch& week_before);
// Causes that are new, or came back, since the rule exists.
[[nodiscard]] std::vector<Finding> judge_causes(const Rule& rule,
                                                const std::vector<CauseRecord>& causes,
                                                std::uint64_t since_ns, std::uint64_t now_ns);
// Events with a lasting change for the worse that is at most as old as `news_lasts_ns`.
[[nodiscard]] std::vector<Finding> judge_worsening(const std::vector<reports::EventTrend>& trends,
                                                   std::uint64_t now_ns);
[[nodiscard]] std::vector<Finding> judge_silence(const Rule& rule,
                                                 const std::vector<HostSign>& signs,
                                                 std::uint64_t now_ns);
[[nodiscard]] std::vector<Finding> judge_losses(const Rule& rule, const Losses& losses);

// Evaluates the rule on the store. `since_ns` is when the rule was created or enabled.
[[nodiscard]] Result<std::vector<Finding>> look(Store& store, const Rule& rule,
                                                std::uint64_t since_ns, std::uint64_t now_ns);

}  // namespace lagtrap::server
