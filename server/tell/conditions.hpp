// What a rule finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/store.hpp"
#include "server/tell/rule.hpp"

namespace lagtrap::server {

// More at once are told as a number: a rule that finds so much is set wrongly.
inline constexpr std::size_t findings_of_look_limit = 1000;
// Causes that were noticed longer ago are no news, whoever made a rule.
inline constexpr std::uint64_t news_lasts_ns = 7ULL * 86'400 * 1'000'000'000;

// As Finding::facts has it, in JSON.
struct Facts {
    std::string title;  // a sentence
    std::string event, host, cause;
    std::string path;  // of the page that shows it

    [[nodiscard]] std::string text() const;
    // What cannot be read is empty.
    [[nodiscard]] static Facts parse(const std::string& text);
};

// Runs and delays of an event in some hours.
struct Stretch {
    std::uint64_t runs = 0, delays = 0;
    std::uint64_t p99_ns = 0;

    void add(const EventActivity& activity);

  private:
    Sketch durations_;
};

// What a rule with P99 or DelayShare finds of an event; `week_before` is that of the same hours a week earlier.
[[nodiscard]] std::optional<Finding> judge(const Rule& rule, const std::string& event, const Stretch& now,
                                           const Stretch& week_before);
// Those that are new, or came back, since the rule is there.
[[nodiscard]] std::vector<Finding> judge_causes(const Rule& rule, const std::vector<CauseRecord>& causes,
                                                std::uint64_t since_ns, std::uint64_t now_ns);
[[nodiscard]] std::vector<Finding> judge_silence(const Rule& rule, const std::vector<RuleStore::HostSign>& signs,
                                                 std::uint64_t now_ns);
[[nodiscard]] std::vector<Finding> judge_losses(const Rule& rule, const Losses& losses);

// Asks the store. `since_ns`: when the rule was made or switched on.
[[nodiscard]] Result<std::vector<Finding>> look(Store& store, const Rule& rule, std::uint64_t since_ns,
                                                std::uint64_t now_ns);

}  // namespace lagtrap::server
