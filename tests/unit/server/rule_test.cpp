#include "server/alerts/rule.hpp"

#include <gmock/gmock.h>

#include "tests/unit/expected_file.hpp"
#include "tests/unit/server/readable_json.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::server::rule_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;

constexpr std::uint64_t minute_ns = 60ULL * 1'000'000'000ULL;
constexpr std::uint64_t day_ns = 1440 * minute_ns;

// A rule of new causes for a webhook, with these members.
json::object with(json::object members) {
    json::object object{
        {"condition", "new_cause"}, {"way", "webhook"}, {"address", "https://receiver.example"}};
    for (const auto& [name, value] : members) object[name] = value;
    return object;
}

json::object mail(json::object members) {
    json::object object = with({{"way", "email"},
                                {"address", "smtps://mail.example"},
                                {"from", "lagtrap@example.org"},
                                {"to", {"ann@example.org"}}});
    for (const auto& [name, value] : members) object[name] = value;
    return object;
}

std::string error_of(const json::object& object) {
    const auto rule = read_rule(object);
    if (rule.ok()) return "";
    EXPECT_EQ(rule.error().kind, ErrorKind::Invalid);
    return rule.error().message;
}

json::object p99(json::object members) {
    members["condition"] = "p99";
    return with(std::move(members));
}

TEST(RuleOf, EachConditionAndWayComesBackWithTheMembersThatGoWithIt) {
    std::string text;
    for (const json::object& object :
         {with({}), with({{"event", "checkout"}, {"condition", "cause_came_back"}}),
          p99({{"over_ns", 5}, {"event", "checkout"}, {"hours", 168}, {"least_runs", 1}}),
          p99({{"factor", 1.01}, {"tell_ends", true}, {"repeat_ns", minute_ns}}),
          with({{"condition", "delay_share"}, {"over_share", 0.25}, {"hours", 1}}),
          with({{"condition", "delay_share"}, {"factor", 1000}, {"least_runs", 1'000'000'000}}),
          with({{"condition", "host_silent"}, {"silent_ns", 29 * day_ns}, {"host", "web-1"}}),
          with({{"condition", "runs_lost"}, {"over_runs", 7}, {"hours", 3}, {"host", "web-2"}}),
          with({{"condition", "got_worse"}, {"way", "slack"}, {"event", "checkout"}}),
          with({{"condition", "weekly_digest"}, {"way", "slack"}}),
          with({{"way", "alertmanager"}, {"user", "lag"}, {"address", "http://a:9093"}}),
          mail({{"user", "lag"},
                {"to", {"ann@example.org", "bob@example.org"}},
                {"quiet_from", "22:05"},
                {"quiet_to", "07:00"},
                {"quiet_zone", "Europe/Berlin"}}),
          with({{"quiet_from", "00:00"}, {"quiet_to", "23:59"}})}) {
        const auto rule = read_rule(object);
        ASSERT_TRUE(rule.ok()) << rule.error().message;
        const json::object written = rule_json(*rule);
        text += readable(written) + "\n";
        const auto again = parse_rule(json::serialize(written));
        ASSERT_TRUE(again.ok()) << again.error().message;
        EXPECT_EQ(rule_json(*again), written);
    }
    expect_text_of_file(test_data_folder() + "/server/alert_rules.txt", text);
}

TEST(RuleOf, WordsAreThoseOfTheList) {
    const std::string conditions =
        "\"condition\": expected one of new_cause, cause_came_back, p99, delay_share, host_silent, "
        "runs_lost, got_worse, weekly_digest";
    const std::string ways = "\"way\": expected one of webhook, email, slack, alertmanager";
    EXPECT_EQ(error_of({}), conditions);
    EXPECT_EQ(error_of(with({{"condition", 5}})), conditions);
    EXPECT_EQ(error_of(with({{"condition", "P99"}})), conditions);
    EXPECT_EQ(error_of(with({{"way", nullptr}})), ways);
    EXPECT_EQ(error_of(with({{"way", "pigeon"}})), ways);
}

TEST(RuleOf, NumbersHaveTheirLimits) {
    const auto whole = [](const char* name, std::uint64_t from, std::uint64_t to) {
        return "\"" + std::string(name) + "\": expected a whole number from " +
               std::to_string(from) + " to " + std::to_string(to);
    };
    const std::string over = whole("over_ns", 1, 30 * day_ns);
    for (const json::value& bad : {json::value(0), json::value(30 * day_ns + 1), json::value(-5),
                                   json::value(1.5), json::value("5")})
        EXPECT_EQ(error_of(p99({{"over_ns", bad}})), over) << bad;
    EXPECT_EQ(error_of(p99({{"over_ns", 1}})), "");
    EXPECT_EQ(error_of(p99({{"over_ns", 30 * day_ns}})), "");
    for (const json::value& bad : {json::value(0), json::value(169), json::value("2")})
        EXPECT_EQ(error_of(p99({{"over_ns", 5}, {"hours", bad}})), whole("hours", 1, 168)) << bad;
    for (const json::value& bad : {json::value(0), json::value(1'000'000'001)})
        EXPECT_EQ(error_of(p99({{"over_ns", 5}, {"least_runs", bad}})),
                  whole("least_runs", 1, 1'000'000'000));
    const auto silence = [](const json::value& silent_ns) {
        return error_of(with({{"condition", "host_silent"}, {"silent_ns", silent_ns}}));
    };
    EXPECT_EQ(silence(minute_ns), "");
    EXPECT_EQ(silence(minute_ns - 1), whole("silent_ns", minute_ns, 29 * day_ns));
    EXPECT_EQ(silence(29 * day_ns + 1), whole("silent_ns", minute_ns, 29 * day_ns));
    EXPECT_EQ(silence(nullptr), "host_silent needs \"silent_ns\" of at least a minute");
    const auto losses = [](const json::value& over_runs) {
        return error_of(with({{"condition", "runs_lost"}, {"over_runs", over_runs}}));
    };
    EXPECT_EQ(losses(0), "");
    EXPECT_EQ(losses(1'000'000'000), "");
    EXPECT_EQ(losses(1'000'000'001), whole("over_runs", 0, 1'000'000'000));
    const auto repeated = [](const json::value& repeat_ns) {
        return error_of(with({{"repeat_ns", repeat_ns}}));
    };
    EXPECT_EQ(repeated(minute_ns), "");
    EXPECT_EQ(repeated(365 * day_ns), "");
    EXPECT_EQ(repeated(minute_ns - 1), whole("repeat_ns", minute_ns, 365 * day_ns));
    EXPECT_EQ(repeated(365 * day_ns + 1), whole("repeat_ns", minute_ns, 365 * day_ns));
    const auto share = [](const json::value& over_share) {
        return error_of(with({{"condition", "delay_share"}, {"over_share", over_share}}));
    };
    EXPECT_EQ(share(0.00001), "");
    EXPECT_EQ(share(0.99), "");
    for (const json::value& bad : {json::value(0.000009), json::value(0.991), json::value("1")})
        EXPECT_EQ(share(bad), "\"over_share\": expected a number from 1e-05 to 0.99") << bad;
    for (const json::value& bad : {json::value(1), json::value(1000.1), json::value(true)})
        EXPECT_EQ(error_of(p99({{"factor", bad}})),
                  "\"factor\": expected a number from 1.01 to 1000")
            << bad;
}

TEST(RuleOf, ALimitIsAbsoluteOrAFactor) {
    const std::string of_p99 = "p99 needs either \"over_ns\" or \"factor\"";
    EXPECT_EQ(error_of(p99({})), of_p99);
    EXPECT_EQ(error_of(p99({{"over_ns", 5}, {"factor", 2}})), of_p99);
    const std::string of_shares = "delay_share needs either \"over_share\" or \"factor\"";
    EXPECT_EQ(error_of(with({{"condition", "delay_share"}})), of_shares);
    EXPECT_EQ(error_of(with({{"condition", "delay_share"}, {"over_share", 0.5}, {"factor", 2}})),
              of_shares);
}

TEST(RuleOf, TextsHaveALengthAndNoControlCharacters) {
    const auto text = [](std::size_t bytes) { return std::string(bytes, 'x'); };
    const std::string too_long = ": expected at most 256 bytes of text";
    EXPECT_EQ(error_of(with({{"event", text(256)}})), "");
    EXPECT_EQ(error_of(with({{"event", text(257)}})), "\"event\"" + too_long);
    EXPECT_EQ(error_of(with({{"event", 5}})), "\"event\"" + too_long);
    EXPECT_EQ(error_of(with({{"event", "a\nb"}})),
              "\"event\": expected text without control characters");
    EXPECT_EQ(error_of(with({{"condition", "runs_lost"}, {"host", text(257)}})),
              "\"host\"" + too_long);
    EXPECT_EQ(error_of(mail({{"user", text(257)}})), "\"user\"" + too_long);
    EXPECT_EQ(error_of(with({{"address", "https://" + text(492)}})), "");
    EXPECT_EQ(error_of(with({{"address", "https://" + text(493)}})),
              "\"address\": expected at most 500 bytes of text");
    EXPECT_EQ(
        error_of(with({{"quiet_from", "01:00"}, {"quiet_to", "02:00"}, {"quiet_zone", text(257)}})),
        "\"quiet_zone\"" + too_long);
}

TEST(RuleOf, AnAddressFitsItsWay) {
    const std::string web = "\"address\": expected an address that begins with https:// or http://";
    const std::string server =
        "\"address\": expected the address of a mail server, "
        "smtps://HOST or smtp://HOST:PORT";
    for (const char* way : {"webhook", "slack", "alertmanager"}) {
        for (const char* good : {"https://a", "http://a:1/path?x#y"})
            EXPECT_EQ(error_of(with({{"way", way}, {"address", good}})), "") << good;
        for (const char* bad :
             {"", "smtp://a", "https:/a", "https://", "https:///path", "https://?a", "https://#a",
              "https://a b", "https://a\"", "https://<a>", "https://a\\", "HTTPS://a"})
            EXPECT_EQ(error_of(with({{"way", way}, {"address", bad}})), web) << bad;
    }
    EXPECT_EQ(error_of(with({{"address", nullptr}})), web);
    for (const char* good : {"smtps://a", "smtp://a:587"})
        EXPECT_EQ(error_of(mail({{"address", good}})), "") << good;
    EXPECT_EQ(error_of(mail({{"address", "https://a"}})), server);
    EXPECT_EQ(error_of(mail({{"address", "smtp://a/"}})), server + ", without a path");
    EXPECT_EQ(error_of(with({{"address", "https://ann:pass@a/"}})),
              "\"address\": expected an address without an account; put a password into "
              "\"secret\"");
    EXPECT_EQ(error_of(with({{"address", "https://a/@b"}})), "") << "not before the path";
}

TEST(RuleOf, MailHasASenderAndRecipients) {
    const std::string address = ": expected a mail address such as ann@example.org";
    EXPECT_EQ(error_of(mail({{"from", nullptr}})), "\"from\"" + address);
    EXPECT_EQ(error_of(mail({{"from", std::string(243, 'x') + "@example.org"}})),
              "\"from\": expected at most 254 bytes of text");
    EXPECT_EQ(error_of(mail({{"from", "Ann <ann@example.org>"}})), "\"from\"" + address);
    for (const char* bad : {"a@b\x7f", "a@b;c", "(a)@b", "\"a\"@b", "a\\@b", "gr\xc3\xbc@b"})
        EXPECT_EQ(error_of(mail({{"to", {"ann@example.org", bad}}})), "\"to\"" + address) << bad;
    EXPECT_EQ(error_of(mail({{"to", {5}}})), "\"to\"" + address);
    const std::string list = "\"to\": expected a list of 1 to 20 mail addresses";
    EXPECT_EQ(error_of(mail({{"to", nullptr}})), list);
    EXPECT_EQ(error_of(mail({{"to", "ann@example.org"}})), list);
    EXPECT_EQ(error_of(mail({{"to", json::array(20, "ann@example.org")}})), "");
    EXPECT_EQ(error_of(mail({{"to", json::array(21, "ann@example.org")}})), list);
    EXPECT_EQ(error_of(mail({{"to", {std::string(242, 'x') + "@example.org"}}})), "");
    EXPECT_EQ(error_of(mail({{"to", {std::string(243, 'x') + "@example.org"}}})),
              "\"to\": expected mail addresses of at most 254 bytes");
}

TEST(RuleOf, QuietHoursAreTwoDifferentTimes) {
    const auto quiet = [](const json::value& from, const json::value& to) {
        return error_of(with({{"quiet_from", from}, {"quiet_to", to}}));
    };
    EXPECT_EQ(quiet("00:00", "23:59"), "");
    EXPECT_EQ(quiet(nullptr, "22:00"), "\"quiet_from\" and \"quiet_to\" must be set together");
    EXPECT_EQ(quiet("22:00", "22:00"),
              "\"quiet_from\" and \"quiet_to\" are the same; to silence a rule all day, set "
              "\"enabled\": false");
    for (const char* bad : {"24:00", "12:60", "1:00", "12-00", "12:0x", "1x:00", "012:00", "-1:00"})
        EXPECT_EQ(quiet("01:00", bad), "\"quiet_to\": expected a time of day, such as 22:00")
            << bad;
    EXPECT_EQ(error_of(with({{"quiet_zone", "UTC"}})),
              "\"quiet_zone\" needs \"quiet_from\" and \"quiet_to\"");
    EXPECT_EQ(error_of(with({{"tell_ends", "yes"}})), "\"tell_ends\": expected true or false");
}

TEST(RuleOf, AMemberGoesWithSomeConditionsOrWays) {
    const std::vector<std::string> conditions{"new_cause",   "cause_came_back", "p99",
                                              "delay_share", "host_silent",     "runs_lost",
                                              "got_worse",   "weekly_digest"};
    std::string text;
    for (const char* member : {"event", "host", "over_ns", "over_share", "factor", "hours",
                               "least_runs", "silent_ns", "over_runs"}) {
        text += std::string(member) + ":";
        for (const std::string& condition : conditions)
            // "true" has the wrong type for all of them.
            if (error_of(with({{"condition", condition}, {member, true}}))
                    .starts_with("\"" + std::string(member) + "\": expected"))
                text += " " + condition;
        text += "\n";
    }
    for (const char* member :
         {"from", "to", "user", "quiet_from", "quiet_to", "quiet_zone", "tell_ends", "repeat_ns"}) {
        text += std::string(member) + ":";
        for (const char* way : {"webhook", "email", "slack", "alertmanager"}) {
            json::object object = mail({{"way", way}, {member, "\x01"}});
            if (std::string(way) != "email") {
                object["address"] = "https://a";
                for (const char* other : {"from", "to"})
                    if (std::string(other) != member) object.erase(other);
            }
            if (!error_of(object).starts_with("\"" + std::string(member) + "\" cannot be used"))
                text += " " + std::string(way);
        }
        text += "\n";
    }
    EXPECT_EQ(text, R"(event: new_cause cause_came_back p99 delay_share got_worse weekly_digest
host: host_silent runs_lost
over_ns: p99
over_share: delay_share
factor: p99 delay_share
hours: p99 delay_share runs_lost
least_runs: p99 delay_share
silent_ns: host_silent
over_runs: runs_lost
from: email
to: email
user: email alertmanager
quiet_from: webhook email slack
quiet_to: webhook email slack
quiet_zone: webhook email slack
tell_ends: webhook email slack
repeat_ns: webhook email slack
)");
    EXPECT_EQ(error_of(with({{"over_ns", 5}})),
              "\"over_ns\" cannot be used with new_cause and webhook, only with p99");
}

TEST(RuleOf, ADigestIsOneMessageForPeople) {
    const auto digest = [](json::object members) {
        members["condition"] = "weekly_digest";
        return error_of(with(std::move(members)));
    };
    EXPECT_EQ(digest({}), "");
    EXPECT_EQ(digest({{"tell_ends", false}}), "");
    EXPECT_EQ(digest({{"way", "alertmanager"}}),
              "weekly_digest goes to webhook, email or slack, not to alertmanager");
    const std::string repeated = "weekly_digest has neither \"tell_ends\" nor \"repeat_ns\"";
    EXPECT_EQ(digest({{"tell_ends", true}}), repeated);
    EXPECT_EQ(digest({{"repeat_ns", minute_ns}}), repeated);
}

TEST(RuleOf, AStoredRuleThatIsNoObjectIsSaid) {
    for (const char* text : {"", "[]", "{\"way\":", "5"}) {
        const auto rule = parse_rule(text);
        ASSERT_FALSE(rule.ok()) << text;
        EXPECT_EQ(rule.error().message, "the stored rule is not a JSON object");
    }
}

TEST(SameCondition, LooksAtEverythingThatIsJudged) {
    const std::vector<void (*)(Rule&)> changes{[](Rule& rule) { rule.condition = Condition::P99; },
                                               [](Rule& rule) { rule.event = "e"; },
                                               [](Rule& rule) { rule.host = "h"; },
                                               [](Rule& rule) { rule.over_ns = 1; },
                                               [](Rule& rule) { rule.over_share = 0.5; },
                                               [](Rule& rule) { rule.factor = 2; },
                                               [](Rule& rule) { rule.hours = 3; },
                                               [](Rule& rule) { rule.min_runs = 4; },
                                               [](Rule& rule) { rule.silent_ns = 5; },
                                               [](Rule& rule) { rule.over_runs = 6; }};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Rule rule;
        changes[i](rule);
        EXPECT_FALSE(same_condition(rule, {})) << i;
        EXPECT_TRUE(same_condition(rule, rule)) << i;
        EXPECT_TRUE(same_receiver(rule, {})) << i;
    }
    Rule elsewhere;
    elsewhere.way = Way::Slack;
    elsewhere.address = "https://b";
    elsewhere.user = "ann";
    elsewhere.report_ends = true;
    elsewhere.repeat_ns = 5;
    elsewhere.quiet = QuietHours{1, 2};
    EXPECT_TRUE(same_condition(elsewhere, {}));
}

TEST(SameReceiver, IsOfTheSameWayUserAndServer) {
    Rule rule;
    rule.address = "https://hooks.example:8443/a";
    const auto same = [&](Way way, const char* user, const char* address) {
        Rule other = rule;
        other.way = way;
        other.user = user;
        other.address = address;
        return same_receiver(rule, other);
    };
    EXPECT_TRUE(same(Way::Webhook, "", "https://hooks.example:8443?b"));
    EXPECT_TRUE(same(Way::Webhook, "", "https://hooks.example:8443#b"));
    EXPECT_FALSE(same(Way::Slack, "", "https://hooks.example:8443/a"));
    EXPECT_FALSE(same(Way::Webhook, "ann", "https://hooks.example:8443/a"));
    EXPECT_FALSE(same(Way::Webhook, "", "https://hooks.example:8444/a"));
    EXPECT_FALSE(same(Way::Webhook, "", "hooks.example:8443"));
    EXPECT_EQ(masked_address("https://hooks.example:8443?key=1"), "https://hooks.example:8443/...");
}

}  // namespace
}  // namespace lagtrap::server::rule_test
