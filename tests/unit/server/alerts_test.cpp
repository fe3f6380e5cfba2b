// Rules: parsing, findings, messages, and retries.
#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "core/text.hpp"
#include "server/alerts/alert_sender.hpp"
#include "server/alerts/base64.hpp"
#include "server/alerts/conditions.hpp"
#include "server/alerts/delivery.hpp"
#include "server/alerts/message.hpp"
#include "server/alerts/signature.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::alerts_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::uint64_t second_ns = 1'000'000'000ULL;
constexpr std::uint64_t minute_ns = 60 * second_ns;
constexpr std::uint64_t hour_ns = 60 * minute_ns;
constexpr std::uint64_t midnight_ns = 20'003 * 24 * hour_ns;

Result<Rule> read(const char* text) { return read_rule(json::parse(text).as_object()); }

std::string error_of(const char* text) {
    const auto rule = read(text);
    return rule ? "no error" : rule.error().message;
}

TEST(Rules, AreReadAndWrittenTheSame) {
    const auto rule =
        read(R"({"condition": "p99", "event": "checkout", "factor": 1.5, "hours": 6, "way": "email",
        "address": "smtp://mail.example:587", "from": "lagtrap@example.org",
        "to": ["ann@example.org", "bob@example.org"],
        "user": "lagtrap", "quiet_from": "22:30", "quiet_to": "07:00",
        "quiet_zone": "Europe/Berlin", "tell_ends": true, "repeat_ns": 3600000000000})");
    ASSERT_TRUE(rule.ok()) << rule.error().message;
    EXPECT_EQ(rule->min_runs, 100U);
    const auto again = parse_rule(json::serialize(rule_json(*rule)));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(same_condition(*rule, *again));
    EXPECT_EQ(rule_json(*rule), rule_json(*again));
    EXPECT_EQ(again->quiet->from_min, 22U * 60 + 30);
    EXPECT_EQ(again->quiet->zone, "Europe/Berlin");
}

TEST(Rules, WhatIsWrongIsNamed) {
    EXPECT_THAT(error_of(R"({"condition": "full moon", "way": "slack", "address": "https://a"})"),
                HasSubstr("new_cause"));
    EXPECT_THAT(error_of(R"({"condition": "new_cause", "way": "pigeon", "address": "https://a"})"),
                HasSubstr("webhook"));
    EXPECT_THAT(error_of(R"({"condition": "new_cause", "way": "webhook", "address": "ftp://a"})"),
                HasSubstr("https://"));
    EXPECT_THAT(
        error_of(
            R"({"condition": "new_cause", "way": "webhook", "address": "https://ann:pass@a/"})"),
        HasSubstr("secret"));
    EXPECT_THAT(error_of(
                    R"({"condition": "new_cause", "over_ns": 5, "way": "webhook",
               "address": "https://a"})"),
                HasSubstr("only with p99"));
    EXPECT_THAT(error_of(R"({"condition": "p99", "way": "webhook", "address": "https://a"})"),
                HasSubstr("needs either"));
    EXPECT_THAT(error_of(
                    R"({"condition": "p99", "over_ns": 5, "factor": 2, "way": "webhook",
               "address": "https://a"})"),
                HasSubstr("needs either"));
    EXPECT_THAT(
        error_of(
            R"({"condition": "p99", "over_ns": -5, "way": "webhook", "address": "https://a"})"),
        HasSubstr("over_ns"));
    EXPECT_THAT(
        error_of(R"({"condition": "host_silent", "way": "webhook", "address": "https://a"})"),
        HasSubstr("silent_ns"));
    EXPECT_THAT(error_of(
                    R"({"condition": "new_cause", "way": "alertmanager", "address": "http://a",
               "quiet_from": "1:00"})"),
                HasSubstr("cannot be used with"));
    EXPECT_THAT(error_of(
                    R"({"condition": "new_cause", "way": "slack", "address": "http://a",
               "quiet_from": "25:00"})"),
                HasSubstr("22:00"));
    EXPECT_THAT(error_of(
                    R"({"condition": "new_cause", "way": "slack", "address": "http://a",
               "quiet_from": "21:00"})"),
                HasSubstr("must be set together"));
    EXPECT_THAT(error_of(
                    R"({"condition": "new_cause", "way": "slack", "address": "http://a",
               "quiet_zone": "UTC"})"),
                HasSubstr("needs \"quiet_from\""));
    EXPECT_THAT(error_of(
                    R"({"condition": "new_cause", "way": "slack", "address": "http://a",
               "quiet_from": "21:00",
                             "quiet_to": "22:00", "quiet_zone": "../Berlin"})"),
                HasSubstr("not the name of a time zone, such as Europe/Berlin"));
    EXPECT_THAT(
        error_of(
            R"({"condition": "new_cause", "way": "email", "address": "smtp://a", "from": "a@b",
               "to": []})"),
        HasSubstr("1 to 20"));
    // Nothing that would start another header or add a recipient.
    for (const char* to :
         {"ann@b\\r\\nBcc: all@b", "ann@b, eve@b", "ann", "@b", "a@", "a@b@c", "<a@b>"})
        EXPECT_THAT(error_of(("{\"condition\": \"new_cause\", \"way\": \"email\", \"address\": "
                              "\"smtp://a\", \"from\": \"a@b\", \"to\": [\"" +
                              std::string(to) + "\"]}")
                                 .c_str()),
                    HasSubstr("a mail address"))
            << to;
}

TEST(Rules, ASecretStaysWithItsReceiver) {
    Rule a;
    a.address = "https://hooks.example/a/b";
    Rule b = a;
    b.address = "https://hooks.example/c?d";
    EXPECT_TRUE(same_receiver(a, b));
    b.address = "https://hooks.example.evil/a/b";
    EXPECT_FALSE(same_receiver(a, b));
    b.address = "http://hooks.example/a/b";
    EXPECT_FALSE(same_receiver(a, b));
    EXPECT_EQ(masked_address("https://hooks.slack.com/services/T/B/x"),
              "https://hooks.slack.com/...");
}

TEST(QuietHours, MayPassMidnight) {
    const QuietHours day{9 * 60, 17 * 60}, night{22 * 60, 7 * 60};
    const auto holds = [](const QuietHours& quiet, std::uint64_t hours, std::uint64_t minutes) {
        const auto held = quiet.holds(midnight_ns + hours * hour_ns + minutes * minute_ns);
        EXPECT_TRUE(held.ok());
        return held.ok() && *held;
    };
    EXPECT_FALSE(holds(day, 8, 59));
    EXPECT_TRUE(holds(day, 9, 0));
    EXPECT_FALSE(holds(day, 17, 0));
    EXPECT_TRUE(holds(night, 23, 0));
    EXPECT_TRUE(holds(night, 6, 59));
    EXPECT_FALSE(holds(night, 7, 0));
    EXPECT_FALSE(holds(night, 21, 59));
}

Stretch stretch(std::uint64_t runs, std::uint64_t delays, std::uint64_t duration_ns) {
    EventActivity activity;
    UnitActivity& unit = activity.units.emplace_back();
    unit.runs = runs;
    unit.delays = delays;
    unit.durations.add(duration_ns, runs);
    Stretch made;
    made.add(activity);
    return made;
}

TEST(Judging, P99OverABoundAndOverAFactor) {
    Rule rule;
    rule.condition = Condition::P99;
    rule.over_ns = 100'000'000;
    EXPECT_FALSE(judge(rule, "e", stretch(1000, 0, 90'000'000), {}).has_value());
    const auto found = judge(rule, "check <out>", stretch(1000, 0, 200'000'000), {});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->subject, "event check <out>");
    const Facts facts = Facts::parse(found->facts);
    EXPECT_THAT(facts.title, HasSubstr("above the limit of 100 ms"));
    EXPECT_EQ(facts.path, "/event/check%20%3Cout%3E?span=24h");
    EXPECT_FALSE(judge(rule, "e", stretch(99, 0, 200'000'000), {}).has_value()) << "too few runs";
    rule.over_ns.reset();
    rule.factor = 1.5;
    EXPECT_FALSE(
        judge(rule, "e", stretch(1000, 0, 140'000'000), stretch(1000, 0, 100'000'000)).has_value());
    EXPECT_TRUE(
        judge(rule, "e", stretch(1000, 0, 160'000'000), stretch(1000, 0, 100'000'000)).has_value());
    EXPECT_FALSE(
        judge(rule, "e", stretch(1000, 0, 160'000'000), stretch(50, 0, 100'000'000)).has_value())
        << "last week tells nothing";
}

TEST(Judging, SharesOfDelays) {
    Rule rule;
    rule.condition = Condition::DelayShare;
    rule.over_share = 0.01;
    EXPECT_FALSE(judge(rule, "e", stretch(1000, 10, 1), {}).has_value());
    const auto found = judge(rule, "e", stretch(1000, 25, 1), {});
    ASSERT_TRUE(found.has_value());
    EXPECT_THAT(Facts::parse(found->facts).title, HasSubstr("2.5 % of the runs of e were delays"));
    rule.over_share.reset();
    rule.factor = 2;
    EXPECT_FALSE(judge(rule, "e", stretch(1000, 20, 1), stretch(1000, 10, 1)).has_value());
    EXPECT_TRUE(judge(rule, "e", stretch(1000, 21, 1), stretch(1000, 10, 1)).has_value());
}

TEST(Judging, EventsThatGotWorseWithinAWeek) {
    reports::EventTrend trend;
    trend.event = "checkout";
    trend.runs_recorded = true;
    trend.verdict = reports::Verdict::Worse;
    trend.lasting = reports::LastingChange{
        {reports::Figure::Delays, midnight_ns, 0.018, 0.036, 0}, "v1.1", true};
    const std::uint64_t now_ns = midnight_ns + 5 * hour_ns;
    const auto found = judge_worsening({trend}, now_ns);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].subject, "worse checkout");
    const Facts facts = Facts::parse(found[0].facts);
    EXPECT_THAT(facts.title, StartsWith("checkout got worse at "));
    EXPECT_THAT(facts.title, HasSubstr(" UTC, with build v1.1: delays 3.6 %, before 1.8 %."));
    EXPECT_EQ(facts.path, "/event/checkout?span=24h");
    EXPECT_THAT(judge_worsening({trend}, now_ns + 7 * 24 * hour_ns), SizeIs(0))
        << "a week later it is no news";
    reports::EventTrend slower = trend;
    slower.lasting =
        reports::LastingChange{{reports::Figure::P99, midnight_ns, 2e6, 5e6, 0}, "", false};
    EXPECT_THAT(Facts::parse(judge_worsening({slower}, now_ns).at(0).facts).title,
                HasSubstr(" UTC: p99 5.00 ms, before 2.00 ms."));
    trend.verdict = reports::Verdict::Better;
    EXPECT_THAT(judge_worsening({trend}, now_ns), SizeIs(0));
    trend.verdict = reports::Verdict::Worse;
    trend.lasting.reset();
    EXPECT_THAT(judge_worsening({trend}, now_ns), SizeIs(0)) << "not a change of level";
}

CauseRecord cause_of(std::uint64_t id, CauseStatus status, std::uint64_t noticed_ns) {
    CauseRecord cause;
    cause.id = cause.root = id;
    cause.event = "e";
    cause.title = "lock in f";
    cause.status = status;
    cause.noticed_realtime_ns = noticed_ns;
    return cause;
}

TEST(Judging, CausesThatAreNewSinceTheRuleIs) {
    Rule rule;
    const std::uint64_t now_ns = midnight_ns, since_ns = now_ns - 24 * hour_ns;
    std::vector<CauseRecord> causes = {
        cause_of(1, CauseStatus::New, since_ns + 1), cause_of(2, CauseStatus::New, since_ns - 1),
        cause_of(3, CauseStatus::Known, since_ns + 1), cause_of(4, CauseStatus::New, since_ns + 1)};
    causes[3].root = 1;  // a part
    const auto found = judge_causes(rule, causes, since_ns, now_ns);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].subject, "cause 1");
    EXPECT_EQ(Facts::parse(found[0].facts).path, "/cause/1");
    EXPECT_THAT(judge_causes(rule, causes, 0, now_ns + 8 * 24 * hour_ns), SizeIs(0))
        << "a week later it is no news";
    rule.event = "other";
    EXPECT_THAT(judge_causes(rule, causes, since_ns, now_ns), SizeIs(0));
    rule.event = "e";
    rule.condition = Condition::CauseCameBack;
    causes.push_back(cause_of(5, CauseStatus::Regressed, 1));
    causes.back().regressed_realtime_ns = since_ns + 5;
    const auto back = judge_causes(rule, causes, since_ns, now_ns);
    ASSERT_THAT(back, SizeIs(1));
    EXPECT_EQ(back[0].subject, "cause 5 back " + std::to_string(since_ns + 5))
        << "its next return is another";
}

TEST(Judging, SilenceAndLosses) {
    Rule rule;
    rule.condition = Condition::HostSilent;
    rule.silent_ns = 30 * minute_ns;
    const std::uint64_t now_ns = midnight_ns;
    const auto silent = judge_silence(
        rule, {{"a", now_ns - 29 * minute_ns}, {"b", now_ns - 45 * minute_ns}}, now_ns);
    ASSERT_THAT(silent, SizeIs(1));
    EXPECT_THAT(Facts::parse(silent[0].facts).title,
                HasSubstr("No data from host b for 45 minutes"));
    rule.condition = Condition::RunsLost;
    rule.over_runs = 10;
    const auto losing = judge_losses(rule, {30, {{"a", 20, 0}, {"b", 10, 0}}});
    ASSERT_THAT(losing, SizeIs(1));
    EXPECT_THAT(Facts::parse(losing[0].facts).title, HasSubstr("20 runs were lost on host a"));
}

Stretch exactly(std::uint64_t runs, std::uint64_t p99_ns) {
    Stretch made;
    made.runs = runs;
    made.p99_ns = p99_ns;
    return made;
}

TEST(Judging, BoundsThemselvesAreNoFindings) {
    Rule rule;
    rule.condition = Condition::P99;
    rule.over_ns = 100'000'000;
    EXPECT_FALSE(judge(rule, "e", exactly(1000, 100'000'000), {}).has_value());
    EXPECT_TRUE(judge(rule, "e", exactly(1000, 100'000'001), {}).has_value());
    EXPECT_TRUE(judge(rule, "e", exactly(100, 100'000'001), {}).has_value()) << "runs enough";
    rule.over_ns.reset();
    rule.factor = 2;
    EXPECT_FALSE(
        judge(rule, "e", exactly(1000, 200'000'000), exactly(100, 100'000'000)).has_value());
    const auto found = judge(rule, "e", exactly(1000, 250'000'000), exactly(100, 100'000'000));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(Facts::parse(found->facts).title,
              "The p99 of e is 250 ms in the last 2 hours (1000 runs), 2.5 times the 100 ms of a "
              "week ago; the limit is 2 times.");
    EXPECT_FALSE(
        judge(rule, "e", exactly(1000, 250'000'000), exactly(99, 100'000'000)).has_value());
    rule.hours = 1;
    EXPECT_THAT(Facts::parse(judge(rule, "e", exactly(100, 900), exactly(100, 0))->facts).title,
                HasSubstr("in the current hour"));
}

TEST(Judging, NewsIsWhatIsNoticedSinceThenOrAWeek) {
    constexpr std::uint64_t week_ns = 7 * 24 * hour_ns;
    Rule rule;
    const std::uint64_t now_ns = midnight_ns;
    const auto is_news = [&](std::uint64_t noticed_ns, std::uint64_t since_ns) {
        return !judge_causes(rule, {cause_of(1, CauseStatus::New, noticed_ns)}, since_ns, now_ns)
                    .empty();
    };
    EXPECT_TRUE(is_news(now_ns - hour_ns, now_ns - hour_ns));
    EXPECT_FALSE(is_news(now_ns - hour_ns - 1, now_ns - hour_ns));
    EXPECT_TRUE(is_news(now_ns - week_ns, 0));
    EXPECT_FALSE(is_news(now_ns - week_ns - 1, 0));
}

TEST(Judging, SilenceLastsFromItsLimitAndIsOfTheRulesHost) {
    Rule rule;
    rule.condition = Condition::HostSilent;
    rule.silent_ns = 30 * minute_ns;
    const std::uint64_t now_ns = midnight_ns;
    const auto title_after = [&](std::uint64_t silent_ns) {
        const auto found = judge_silence(rule, {{"a", now_ns - silent_ns}}, now_ns);
        return found.empty() ? std::string() : Facts::parse(found[0].facts).title;
    };
    EXPECT_EQ(title_after(30 * minute_ns - 1), "");
    EXPECT_THAT(title_after(30 * minute_ns), HasSubstr("for 30 minutes"));
    EXPECT_THAT(title_after(2 * hour_ns - 1), HasSubstr("for 119 minutes"));
    EXPECT_THAT(title_after(2 * hour_ns), HasSubstr("for 2 hours"));
    EXPECT_THAT(title_after(48 * hour_ns - 1), HasSubstr("for 47 hours"));
    EXPECT_THAT(title_after(48 * hour_ns), HasSubstr("for 2 days"));
    EXPECT_THAT(judge_silence(rule, {{"a", now_ns + hour_ns}}, now_ns), SizeIs(0))
        << "its clock is ahead";
    rule.host = "b";
    EXPECT_EQ(title_after(48 * hour_ns), "");
}

TEST(Judging, LongTitlesAreCutBetweenCharacters) {
    Rule rule;
    rule.condition = Condition::P99;
    rule.over_ns = 1;
    std::string event;
    while (event.size() < 1200) event += "\xc3\xa4";
    for (const char* first : {"", "x"}) {
        const auto found = judge(rule, first + event, stretch(1000, 0, 100), {});
        ASSERT_TRUE(found.has_value());
        const std::string title = Facts::parse(found->facts).title;
        EXPECT_LE(title.size(), 1003U);
        EXPECT_EQ(printable(title), title);
        EXPECT_TRUE(title.ends_with("...")) << title;
    }
}

TEST(Signatures, AreThoseOfTheSpecification) {
    // The example of the specification "Standard Webhooks".
    EXPECT_EQ(
        webhook_signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek",
                          1614265330, R"({"test": 2432232314})"),
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    EXPECT_TRUE(check_webhook_secret(make_webhook_secret()).ok());
    EXPECT_NE(make_webhook_secret(), make_webhook_secret());
    for (const char* wrong :
         {"", "whsec_", "whsec_short", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!!"})
        EXPECT_FALSE(check_webhook_secret(wrong).ok()) << wrong;
}

TEST(Signatures, SecretsHaveTwentyFourToSixtyFourBytes) {
    const auto is_taken = [](std::size_t bytes) {
        return check_webhook_secret("whsec_" + base64(std::string(bytes, 'x'))).ok();
    };
    EXPECT_FALSE(is_taken(23));
    EXPECT_TRUE(is_taken(24));
    EXPECT_TRUE(is_taken(64));
    EXPECT_FALSE(is_taken(65));
}

TEST(Base64, PadsAndReadsBack) {
    const std::vector<std::pair<std::string, std::string>> texts{
        {"a", "YQ=="}, {"ab", "YWI="}, {"abc", "YWJj"}, {std::string("\0\xff", 2), "AP8="}};
    for (const auto& [bytes, text] : texts) {
        EXPECT_EQ(base64(bytes), text);
        EXPECT_EQ(read_base64(text), bytes);
    }
    EXPECT_EQ(base64(""), "");
    for (const char* wrong : {"", "YQ=", "YQ", "!!!!"})
        EXPECT_EQ(read_base64(wrong), std::nullopt) << wrong;
}

Message message_about(const std::string& title) {
    Message message{"nights", 7, Condition::P99, false, midnight_ns, {}, 0};
    message.findings.push_back(
        {"event e", title, "e", "", "", "https://lagtrap.example/event/e", midnight_ns, 0});
    return message;
}

TEST(Messages, StayTheSameInTheStore) {
    Message message = message_about("The p99 of e is 2 s.");
    message.findings.push_back({"host b", "title", "", "b", "", "", midnight_ns, midnight_ns + 1});
    message.left_out = 3;
    const auto again = Message::parse(message.json_text());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->json_text(), message.json_text());
    EXPECT_EQ(again->headline(), "5 findings of the rule nights; the first: The p99 of e is 2 s.");
    EXPECT_FALSE(Message::parse("[]").ok());
}

TEST(Messages, NoTextFromElsewhereIsMarkup) {
    const Message message = message_about("<!channel> & <https://evil|click>");
    EXPECT_THAT(slack_body(message),
                HasSubstr("&lt;!channel&gt; &amp; &lt;https://evil|click&gt;"));
    Rule rule;
    rule.from = "lagtrap@example.org";
    rule.to = {"ann@example.org"};
    Message hostile = message_about("Grüße\\r\\nBcc: eve@example.org " + std::string(200, 'x'));
    const std::string mail = mail_text("id", hostile, rule);
    EXPECT_THAT(mail, HasSubstr("Subject: =?UTF-8?B?"));
    EXPECT_THAT(mail, HasSubstr("Message-ID: <id@example.org>\r\n"));
    EXPECT_THAT(mail, Not(HasSubstr("\r\nBcc")));
    for (std::size_t at = 0, end = 0; (end = mail.find("\r\n", at)) != std::string::npos;
         at = end + 2)
        EXPECT_LE(end - at, 78U) << mail.substr(at, end - at);
}

TEST(Messages, LongSubjectsAreCutIntoWordsBetweenCharacters) {
    for (const std::string& first : {std::string(), std::string("x"), std::string("xy")}) {
        std::string title = first;
        for (int i = 0; i < 60; ++i) title += "\xe2\x82\xac";  // three bytes
        const Message message = message_about(title);
        Rule rule;
        rule.from = "lagtrap@example.org";
        const std::string mail = mail_text("id", message, rule);
        std::string joined;
        const std::string begin = "=?UTF-8?B?";
        for (std::size_t at = mail.find(begin); at != std::string::npos;
             at = mail.find(begin, at + 1)) {
            const std::size_t from = at + begin.size();
            const std::string word =
                read_base64(mail.substr(from, mail.find("?=", from) - from)).value();
            EXPECT_LE(word.size(), 39U);
            EXPECT_EQ(printable(word), word) << "no part of a character";
            joined += word;
        }
        EXPECT_THAT(joined, HasSubstr(title));
    }
}

TEST(Messages, AlertsKeepTheirLabels) {
    Message message = message_about("first");
    const auto labels = [&] {
        return json::parse(alertmanager_body(message, midnight_ns + 5 * minute_ns))
            .as_array()[0]
            .as_object();
    };
    const auto before = labels();
    message.findings[0].title = "another figure now";
    message.findings[0].ended_realtime_ns = midnight_ns + minute_ns;
    const auto after = labels();
    EXPECT_EQ(before.at("labels"), after.at("labels"))
        << "Alertmanager knows an alert by its labels";
    EXPECT_NE(before.at("endsAt"), after.at("endsAt"));
    EXPECT_EQ(before.at("labels").at("alertname"), "LagtrapP99");
}

TEST(Delivery, IsTriedLessAndLessOftenForADay) {
    StoredMessage message;
    message.made_realtime_ns = midnight_ns;
    std::uint64_t now_ns = midnight_ns, last_pause_ns = 0;
    for (message.attempts = 1; const auto next_ns = next_attempt_ns(message, now_ns);
         ++message.attempts) {
        EXPECT_GE(*next_ns - now_ns, last_pause_ns);
        EXPECT_LE(*next_ns - now_ns, hour_ns);
        last_pause_ns = *next_ns - now_ns;
        now_ns = *next_ns;
        ASSERT_LT(message.attempts, 100U);
    }
    EXPECT_GE(now_ns, midnight_ns + 24 * hour_ns);
    EXPECT_LE(now_ns, midnight_ns + 25 * hour_ns);
    message.test = true;
    message.attempts = 1;
    EXPECT_FALSE(next_attempt_ns(message, midnight_ns).has_value());
}

class AlertSenderTest : public StoreFixture {
  protected:
    std::uint64_t add(const char* definition) {
        StoredRule rule;
        rule.name = "losses";
        rule.definition = definition;
        rule.secret = make_webhook_secret();
        const auto id = store_->rules().add_rule(rule);
        EXPECT_TRUE(id.ok() && id->has_value());
        return id.ok() ? id->value_or(0) : 0;
    }
    std::string log_;
};

TEST_F(AlertSenderTest, FindsTellsAndSaysWhatFailed) {
    // Nothing listens there.
    const std::uint64_t id =
        add(R"({"condition": "runs_lost", "way": "webhook", "address": "http://127.0.0.1:1/"})");
    trace::RunBatch batch;
    batch.host = "alpha";
    batch.runs_lost = 5;
    ASSERT_TRUE(
        store_->batches().add_batch({std::string(64, '0'), 10, midnight_ns, "token"}, batch).ok());
    AlertSender alert_sender(*store_, {"https://lagtrap.example", std::chrono::minutes(1)},
                             [this](const auto& line) { log_ += line; });
    EXPECT_TRUE(*alert_sender.look_once(midnight_ns + second_ns));
    EXPECT_FALSE(*alert_sender.look_once(midnight_ns + 2 * second_ns)) << "its minute is not over";
    const auto messages = *store_->messages().of_rule(id);
    ASSERT_THAT(messages, SizeIs(1));
    const auto message = Message::parse(messages[0].body);
    ASSERT_TRUE(message.ok());
    EXPECT_EQ(message->headline(),
              "5 runs were lost on host alpha in the last 2 hours; lagtrap status there says why.");
    EXPECT_EQ(message->findings[0].link, "https://lagtrap.example/?span=24h&host=alpha");
    EXPECT_TRUE(*alert_sender.send_once(midnight_ns + 3 * second_ns));
    const auto rule = *store_->rules().find_rule(id);
    EXPECT_THAT(rule->failure, HasSubstr("127.0.0.1:1"));
    EXPECT_THAT(log_, HasSubstr("was not delivered"));
    EXPECT_EQ(alert_sender.figures().failures, 1U);
}

TEST_F(AlertSenderTest, ARuleThatCanNotBeReadSaysSo) {
    const std::uint64_t id = add("no JSON");
    AlertSender alert_sender(*store_, {}, [this](const auto& line) { log_ += line; });
    EXPECT_TRUE(*alert_sender.look_once(midnight_ns));
    EXPECT_THAT((*store_->rules().find_rule(id))->look_failure, HasSubstr("JSON"));
    EXPECT_EQ(alert_sender.figures().look_failures, 1U);
}

}  // namespace
}  // namespace lagtrap::server::alerts_test
