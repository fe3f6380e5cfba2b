#include "server/alerts/weekly_digest.hpp"

#include <gmock/gmock.h>

#include "server/alerts/alert_sender.hpp"
#include "server/alerts/message.hpp"
#include "server/alerts/signature.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::weekly_digest_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::uint64_t second_ns = 1'000'000'000ULL;
constexpr std::uint64_t day_length_ns = 86'400 * second_ns;
// 23 November 2026, a Monday.
constexpr std::uint64_t monday_ns = 20'780 * day_length_ns;
const Week week{monday_ns, monday_ns + 7 * day_length_ns};

TEST(WeeklyDigest, WeeksBeginOnMonday) {
    EXPECT_EQ(week.subject(), "week 2026-11-23");
    for (const std::uint64_t later_ns : {std::uint64_t{0}, second_ns, 7 * day_length_ns - 1}) {
        EXPECT_EQ(last_week(week.to_ns + later_ns).from_ns, week.from_ns);
        EXPECT_EQ(last_week(week.to_ns + later_ns).to_ns, week.to_ns);
    }
    EXPECT_EQ(last_week(week.to_ns - 1).to_ns, week.from_ns);
    EXPECT_EQ(last_week(5).to_ns, 0U);
}

CauseRecord cause_of(std::uint64_t id, std::uint64_t noticed_ns, std::uint64_t delays) {
    CauseRecord cause;
    cause.id = cause.root = id;
    cause.event = "checkout";
    cause.title = "Waits for a lock";
    cause.noticed_realtime_ns = noticed_ns;
    cause.delays = delays;
    cause.hosts = 1;
    return cause;
}

reports::EventTrend trend_from(std::uint64_t from_ns) {
    reports::EventTrend trend;
    trend.event = "checkout";
    trend.verdict = reports::Verdict::Worse;
    trend.lasting =
        reports::LastingChange{{reports::Figure::P99, from_ns, 2e6, 5e6, 0}, "v1.1", false};
    return trend;
}

std::vector<std::string> titles_of(const Finding& finding) {
    std::vector<std::string> titles;
    for (const FactLine& line : Facts::parse(finding.facts).lines) titles.push_back(line.title);
    return titles;
}

TEST(WeeklyDigest, SaysWhatHappenedInTheWeekAndNothingElse) {
    WeekReport report;
    report.trends = {trend_from(week.from_ns), trend_from(week.from_ns - 1),
                     trend_from(week.to_ns)};
    report.causes = {cause_of(1, week.from_ns, 1), cause_of(2, week.to_ns, 1),
                     cause_of(3, week.from_ns - 1, 1), cause_of(4, week.to_ns - 1, 12)};
    report.causes[2].status = CauseStatus::Resolved;
    report.causes[2].resolved_realtime_ns = week.from_ns + 1;
    CauseRecord part = cause_of(5, week.from_ns, 1);
    part.root = 1;
    report.causes.push_back(part);
    report.costs = {{4, "checkout", "Waits for a lock", 12, 5 * second_ns}};
    const Finding digest = digest_of(week, report);
    EXPECT_EQ(digest.subject, "week 2026-11-23");
    EXPECT_EQ(Facts::parse(digest.facts).title,
              "Week of 2026-11-23: 1 event got worse, 2 new causes, 1 resolved cause.");
    EXPECT_THAT(
        titles_of(digest),
        ElementsAre("checkout got worse at 2026-11-23 00:00 UTC, with build v1.1: p99 5.00 ms, "
                    "before 2.00 ms.",
                    "New cause of delays of checkout: Waits for a lock; 12 delays on 1 host.",
                    "New cause of delays of checkout: Waits for a lock; 1 delay on 1 host.",
                    "Resolved cause of delays of checkout: Waits for a lock; 1 delay on 1 host.",
                    "Most costly: Waits for a lock (checkout): 5.00 s in 12 recorded delays."));
    EXPECT_EQ(Facts::parse(digest.facts).lines[1].path, "/cause/4");
    const Finding nothing = digest_of(week, {});
    EXPECT_EQ(Facts::parse(nothing.facts).title,
              "Week of 2026-11-23: no events got worse, no new causes, no resolved causes.");
    EXPECT_THAT(titles_of(nothing), IsEmpty());
}

TEST(WeeklyDigest, WhatIsNotResolvedOrWorseNowDoesNotCount) {
    WeekReport report;
    report.trends = {trend_from(week.from_ns), trend_from(week.from_ns)};
    report.trends[0].verdict = reports::Verdict::Better;
    report.trends[1].lasting.reset();
    for (const std::uint64_t resolved_ns : {week.from_ns - 1, week.to_ns, week.from_ns}) {
        CauseRecord& cause = report.causes.emplace_back(cause_of(1, 5, 1));
        cause.id = cause.root = report.causes.size();
        cause.status = CauseStatus::Resolved;
        cause.resolved_realtime_ns = resolved_ns;
    }
    report.causes[2].status = CauseStatus::Regressed;
    report.costs = {{4, "checkout", "Waits for a lock", 1, 5 * second_ns}};
    const Finding digest = digest_of(week, report);
    EXPECT_EQ(Facts::parse(digest.facts).title,
              "Week of 2026-11-23: no events got worse, no new causes, no resolved causes.");
    EXPECT_THAT(titles_of(digest), ElementsAre("Most costly: Waits for a lock (checkout): 5.00 s "
                                               "in 1 recorded delay."));
}

TEST(WeeklyDigest, LinesAreCutBetweenCharacters) {
    for (const std::string& first : {std::string(), std::string("x")}) {
        WeekReport report;
        CauseRecord cause = cause_of(1, week.from_ns, 1);
        cause.title = first;
        for (int i = 0; i < 200; ++i) cause.title += "\xc3\xa4";
        report.causes = {cause};
        const std::string line = titles_of(digest_of(week, report)).at(0);
        EXPECT_LE(line.size(), 240U);
        EXPECT_GE(line.size(), 239U);
        EXPECT_THAT(line, testing::EndsWith("\xc3\xa4..."));
    }
}

TEST(WeeklyDigest, FitsAFinding) {
    WeekReport report;
    for (std::uint64_t id = 1; id <= 100; ++id) {
        report.causes.push_back(cause_of(id, week.from_ns, id));
        report.causes.back().title = std::string(4000, id % 2 == 0 ? 'x' : '"');
        report.trends.push_back(trend_from(week.from_ns));
        report.trends.back().event = std::string(1000, '<');
        report.costs.push_back({id, std::string(1000, '"'), std::string(1000, '"'), 1, 1});
    }
    const Finding digest = digest_of(week, report);
    EXPECT_LE(digest.facts.size(), 8192U);
    EXPECT_THAT(titles_of(digest), SizeIs(12));
    EXPECT_THAT(Facts::parse(digest.facts).title,
                HasSubstr("100 events got worse, 100 new causes"));
}

class WeeklyDigestSender : public StoreFixture {
  protected:
    std::uint64_t add_rule(std::uint64_t at_ns) {
        StoredRule rule;
        rule.name = "digest";
        rule.definition =
            R"({"condition": "weekly_digest", "way": "webhook", "address": "http://127.0.0.1:1/"})";
        rule.secret = make_webhook_secret();
        rule.changed_realtime_ns = at_ns;
        return must_be(store_->rules().add_rule(rule)).value_or(0);
    }
    template <typename T>
    static T must_be(Result<T> result) {
        EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
        return result ? std::move(result).value() : T{};
    }
    // A server of its own, as after a restart or on another machine.
    void look_at(std::uint64_t now_ns) {
        AlertSender server(*store_, {"https://lagtrap.example", std::chrono::minutes(1)},
                           [](const auto&) {});
        EXPECT_TRUE(must_be(server.look_once(now_ns)));
    }
    void deliver_all(std::uint64_t now_ns) {
        while (auto taken =
                   must_be(store_->messages().take_message(now_ns, std::chrono::seconds(30)))) {
            taken->state = MessageState::Delivered;
            EXPECT_TRUE(store_->messages().settle_message(*taken, now_ns).ok());
        }
    }
};

TEST_F(WeeklyDigestSender, IsOneMessageAWeek) {
    const std::uint64_t rule = add_rule(monday_ns + second_ns);
    look_at(week.to_ns - 60 * second_ns);
    EXPECT_THAT(must_be(store_->messages().of_rule(rule)), IsEmpty())
        << "the rule was made after that week";
    for (std::uint64_t hour = 0; hour < 7 * 24; hour += 8) {
        look_at(week.to_ns + hour * 3600 * second_ns + second_ns);
        deliver_all(week.to_ns + hour * 3600 * second_ns + 2 * second_ns);
    }
    const auto messages = must_be(store_->messages().of_rule(rule));
    ASSERT_THAT(messages, SizeIs(1));
    const Message message = must_be(Message::parse(messages[0].body));
    EXPECT_THAT(message.headline(), StartsWith("Week of 2026-11-23: no events got worse"));
    EXPECT_EQ(message.findings[0].link, "https://lagtrap.example/?span=7d");
    look_at(week.to_ns + 8 * day_length_ns);
    EXPECT_THAT(must_be(store_->messages().of_rule(rule)), SizeIs(2))
        << "the next week has its own";
}

TEST(WeeklyDigest, GoesToPeopleOnce) {
    const auto error_of = [](const char* text) {
        const auto rule = parse_rule(text);
        return rule ? std::string() : rule.error().message;
    };
    EXPECT_EQ(error_of(
                  R"({"condition": "weekly_digest", "event": "e", "way": "slack",
               "address": "https://a"})"),
              "");
    EXPECT_THAT(
        error_of(
            R"({"condition": "weekly_digest", "way": "alertmanager", "address": "https://a"})"),
        HasSubstr("alertmanager"));
    for (const char* more : {R"("tell_ends": true)", R"("repeat_ns": 3600000000000)"})
        EXPECT_THAT(
            error_of(
                (std::string(
                     R"({"condition": "weekly_digest", "way": "slack", "address": "https://a", )") +
                 more + "}")
                    .c_str()),
            HasSubstr("tell_ends"));
}

}  // namespace
}  // namespace lagtrap::server::weekly_digest_test
