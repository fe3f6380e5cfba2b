#include "server/alerts/message.hpp"

#include <map>

#include "server/alerts/conditions.hpp"
#include "server/alerts/delivery.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::server::message_test {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000ULL;
constexpr std::uint64_t hour_ns = 3600 * second_ns;
constexpr std::uint64_t midnight_ns = 20'003 * 24 * hour_ns;
const std::string secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

StoredRule stored_rule() {
    StoredRule stored;
    stored.id = 7;
    stored.name = "nights & <days>";
    return stored;
}

KeptFinding kept(const std::string& subject, const Facts& facts, std::uint64_t found_ns,
                 std::uint64_t ended_ns) {
    KeptFinding made;
    made.finding = {subject, facts.text()};
    made.found_realtime_ns = found_ns;
    made.ended_realtime_ns = ended_ns;
    return made;
}

// Two findings, of which the second is over and has two lines.
Message message_of_all(Condition condition, const std::string& public_url) {
    Rule rule;
    rule.condition = condition;
    Facts first;
    first.title = "The p99 of a<b is 2 s.";
    first.event = "a<b";
    first.host = "web-1";
    first.cause = "12";
    first.path = "/event/a%3Cb?span=24h";
    Facts second;
    second.title = "Grüße from a long week.";
    second.lines = {{"one", "open", "13", "/cause/13"}, {"two", "", "", ""}};
    return message_of(stored_rule(), rule,
                      {kept("event a<b", first, midnight_ns + 1, 0),
                       kept("week 2024", second, midnight_ns + 2, midnight_ns + 90 * second_ns)},
                      3, midnight_ns + 4 * hour_ns, public_url);
}

Rule rule_for(Way way) {
    Rule rule;
    rule.way = way;
    rule.address = "https://receiver.example/path//";
    rule.from = "lagtrap@example.org";
    rule.to = {"ann@example.org", "bob@example.org"};
    rule.user = "lag";
    return rule;
}

std::string text_of(const Result<Outgoing>& made) {
    if (!made) return made.error().message + "\n";
    std::string text = "url " + made->url + "\n";
    for (const std::string& header : made->headers) text += "header " + header + "\n";
    text += "user " + made->user + "\npassword " + made->password + "\nfrom " + made->mail_from;
    for (const std::string& to : made->mail_to) text += "\nto " + to;
    text += "\n";
    for (const char letter : made->body)
        if (letter != '\r') text += letter;
    return text + "\n";
}

TEST(AlertMessage, EachReceiverGetsAllOfIt) {
    StoredMessage stored;
    stored.id = "the-id";
    stored.body = message_of_all(Condition::P99, "https://lagtrap.example").json_text();
    std::string text;
    for (const auto& [name, way] :
         {std::pair("webhook", Way::Webhook), std::pair("slack", Way::Slack),
          std::pair("alertmanager", Way::Alertmanager), std::pair("mail", Way::Email)})
        text += "== " + std::string(name) + "\n" +
                text_of(outgoing_of(stored, rule_for(way), secret, midnight_ns + 5 * hour_ns + 1));
    Rule nameless = rule_for(Way::Alertmanager);
    nameless.user.clear();
    text += "== alertmanager without a user\n" +
            text_of(outgoing_of(stored, nameless, secret, midnight_ns));
    text += "== alertmanager without a secret\n" +
            text_of(outgoing_of(stored, nameless, "", midnight_ns));
    stored.body = message_of_all(Condition::WeeklyDigest, "").json_text();
    text += "== without links\n" +
            text_of(outgoing_of(stored, rule_for(Way::Slack), secret, midnight_ns));
    text += text_of(outgoing_of(stored, rule_for(Way::Email), secret, midnight_ns));
    for (const char* url : {"", "https://lagtrap.example"}) {
        stored.body =
            test_message_of(stored_rule(), rule_for(Way::Webhook), midnight_ns, url).json_text();
        text +=
            "== test\n" + text_of(outgoing_of(stored, rule_for(Way::Webhook), secret, midnight_ns));
    }
    stored.body = "{}";
    text += "== damaged\n" + text_of(outgoing_of(stored, rule_for(Way::Slack), secret, 0));
    expect_text_of_file(test_data_folder() + "/server/alert_messages.txt", text);
}

TEST(AlertMessage, AlertsAreNamedByTheirCondition) {
    const std::map<Condition, std::string> names{{Condition::NewCause, "LagtrapNewCause"},
                                                 {Condition::CauseCameBack, "LagtrapCauseCameBack"},
                                                 {Condition::P99, "LagtrapP99"},
                                                 {Condition::DelayShare, "LagtrapDelayShare"},
                                                 {Condition::HostSilent, "LagtrapHostSilent"},
                                                 {Condition::RunsLost, "LagtrapRunsLost"},
                                                 {Condition::GotWorse, "LagtrapGotWorse"},
                                                 {Condition::WeeklyDigest, "LagtrapWeeklyDigest"}};
    for (const auto& [condition, name] : names) {
        const auto again = Message::parse(message_of_all(condition, "").json_text());
        ASSERT_TRUE(again.ok());
        EXPECT_NE(alertmanager_body(*again, 0).find("\"alertname\":\"" + name + "\""),
                  std::string::npos)
            << name;
    }
}

TEST(AlertMessage, ItsHeadlineCounts) {
    Message message = message_of_all(Condition::P99, "");
    EXPECT_EQ(message.headline(),
              "7 findings of the rule nights & <days>; the first: The p99 of a<b is 2 s.");
    message.findings.resize(1);
    EXPECT_EQ(message.headline(),
              "4 findings of the rule nights & <days>; the first: The p99 of a<b is 2 s.");
    message.left_out = 0;
    EXPECT_EQ(message.headline(), "The p99 of a<b is 2 s.");
    message.findings[0].ended_realtime_ns = midnight_ns;
    EXPECT_EQ(message.headline(), "Over since 2024-10-07 00:00 UTC: The p99 of a<b is 2 s.");
    message.findings.clear();
    EXPECT_EQ(message.headline(), "The rule nights & <days> found nothing.");
}

TEST(AlertMessage, NothingMoreIsNotMentioned) {
    Message message = message_of_all(Condition::P99, "");
    message.left_out = 0;
    EXPECT_EQ(slack_body(message).find("more"), std::string::npos);
    EXPECT_NE(mail_text("id", message, rule_for(Way::Email)).size(),
              mail_text("id", message_of_all(Condition::P99, ""), rule_for(Way::Email)).size());
}

TEST(AlertMessage, LinksKeepOnlyPlainLetters) {
    EXPECT_EQ(event_path("AZaz09-_. /?&%\xc3\xa4"),
              "/event/AZaz09-_.%20%2F%3F%26%25%C3%A4?span=24h");
    EXPECT_EQ(cause_path(12), "/cause/12");
}

TEST(AlertMessage, RetriesWaitThreeTimesAsLongUpToAnHour) {
    StoredMessage message;
    message.made_realtime_ns = midnight_ns;
    std::vector<std::uint64_t> pauses;
    for (message.attempts = 1; message.attempts <= 8; ++message.attempts)
        pauses.push_back((next_attempt_ns(message, midnight_ns).value_or(0) - midnight_ns) /
                         second_ns);
    EXPECT_EQ(pauses, (std::vector<std::uint64_t>{5, 15, 45, 135, 405, 1215, 3600, 3600}));
    EXPECT_TRUE(next_attempt_ns(message, midnight_ns + 24 * hour_ns - 1));
    EXPECT_FALSE(next_attempt_ns(message, midnight_ns + 24 * hour_ns));
}

}  // namespace
}  // namespace lagtrap::server::message_test
