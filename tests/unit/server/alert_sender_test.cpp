#include "server/alerts/alert_sender.hpp"

#include <thread>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "server/alerts/message.hpp"
#include "server/alerts/signature.hpp"
#include "tests/unit/server/store_fixture.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::server::alert_sender_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using uploader::ScriptedServer;

constexpr std::uint64_t second_ns = 1'000'000'000ULL;
constexpr std::uint64_t minute_ns = 60 * second_ns;
constexpr std::uint64_t hour_ns = 60 * minute_ns;
constexpr std::uint64_t midnight_ns = 20'003 * 24 * hour_ns;

class AlertSenderSteps : public StoreFixture {
  protected:
    std::uint64_t add_rule(const std::string& members,
                           const std::string& address = "http://127.0.0.1:1/") {
        return add_rule_about(R"("runs_lost","hours":1)", members, address);
    }
    std::uint64_t add_rule_about(const std::string& condition, const std::string& members,
                                 const std::string& address = "http://127.0.0.1:1/") {
        StoredRule rule;
        rule.name = "rule " + std::to_string(++rules_);
        rule.definition =
            "{\"condition\":" + condition + ",\"address\":\"" + address + "\"," + members + "}";
        rule.secret = make_webhook_secret();
        const auto id = store_->rules().add_rule(rule);
        EXPECT_TRUE(id.ok() && id->has_value());
        return id.ok() ? id->value_or(0) : 0;
    }
    void lose_runs(const std::string& host, std::uint64_t at_ns) {
        trace::RunBatch batch;
        batch.host = host;
        batch.runs_lost = 5;
        std::string digest = std::to_string(++batches_);
        digest.insert(0, 64 - digest.size(), '0');
        EXPECT_TRUE(store_->batches().add_batch({digest, 10, at_ns, "token"}, batch).ok());
    }
    void look(std::uint64_t at_ns) {
        const auto looked = sender().look_once(at_ns);
        EXPECT_TRUE(looked.ok() && *looked);
    }
    // Takes what waits, and says what it reports.
    std::vector<std::string> taken(std::uint64_t at_ns) {
        std::vector<std::string> found;
        auto message = store_->messages().take_message(at_ns, std::chrono::seconds(30));
        if (!message.ok() || !*message) return found;
        const auto read = Message::parse((*message)->body);
        EXPECT_TRUE(read.ok());
        for (const ReportedFinding& finding : read->findings)
            found.push_back(finding.subject +
                            (finding.ended_realtime_ns > 0 ? " ended " + finding.link : ""));
        if (read->left_out > 0) found.push_back(std::to_string(read->left_out) + " more");
        (*message)->state = MessageState::Delivered;
        EXPECT_TRUE(store_->messages().settle_message(**message, at_ns).ok());
        return found;
    }

    // Made after SetUp().
    AlertSender& sender() {
        if (!sender_)
            sender_ = std::make_unique<AlertSender>(
                *store_,
                AlertOptions{"https://lagtrap.example", std::chrono::minutes(1), Receivers::Any},
                [this](const auto& line) { log_ += line + "\n"; });
        return *sender_;
    }

    std::string log_;

  private:
    std::unique_ptr<AlertSender> sender_;
    std::uint64_t rules_ = 0, batches_ = 0;
};

TEST_F(AlertSenderSteps, AnEndIsReportedOnlyIfTheRuleAsksForIt) {
    for (const bool ends : {false, true}) {
        add_rule(std::string(R"("way":"webhook","tell_ends":)") + (ends ? "true" : "false"));
        const std::uint64_t at_ns = midnight_ns + (ends ? 10 : 0) * hour_ns;
        lose_runs("alpha", at_ns);
        look(at_ns + second_ns);
        EXPECT_THAT(taken(at_ns + second_ns), ElementsAre("host alpha")) << ends;
        look(at_ns + hour_ns - second_ns);
        // No longer found, but perhaps it wavers.
        look(at_ns + hour_ns + 9 * minute_ns);
        EXPECT_THAT(taken(at_ns + hour_ns + 9 * minute_ns), IsEmpty()) << ends;
        look(at_ns + hour_ns + 10 * minute_ns);
        const auto news = taken(at_ns + hour_ns + 10 * minute_ns);
        if (ends)
            EXPECT_THAT(
                news, ElementsAre("host alpha ended https://lagtrap.example/?span=24h&host=alpha"));
        else
            EXPECT_THAT(news, IsEmpty());
        ASSERT_TRUE(store_->rules().remove_rule(ends ? 2 : 1).ok());
    }
    EXPECT_EQ(log_, "");
}

TEST_F(AlertSenderSteps, ACauseThatIsKnownHasEndedAtOnce) {
    add_rule_about(R"("new_cause")", R"("way":"webhook","tell_ends":true)");
    BundleRow bundle;
    bundle.digest = std::string(64, '3');
    ASSERT_TRUE(store_->inventory().add(bundle, {"parse", bundle.digest, 0}).ok());
    std::vector<BundleDelay> delays(1);
    delays[0].number = 1;
    delays[0].event = "open";
    delays[0].begin_realtime_ns = midnight_ns;
    ASSERT_TRUE(store_->inventory().set_contents(bundle.digest, {}, {}, delays).ok());
    const CauseSighting delay{bundle.digest, 1, "alpha", "v1", midnight_ns, 5, {}};
    const auto noted = store_->found_causes().note_causes(
        "open", {{"sig", "waits", "blocked", "disk", "[]", {delay}, {}}}, midnight_ns);
    ASSERT_TRUE(noted.ok());
    look(midnight_ns + second_ns);
    EXPECT_THAT(taken(midnight_ns + second_ns), ElementsAre("cause 1"));
    CauseChange change;
    change.status = CauseStatus::Known;
    ASSERT_TRUE(store_->everything().causes().change_cause(1, change).value());
    look(midnight_ns + 62 * second_ns);
    EXPECT_THAT(taken(midnight_ns + 62 * second_ns),
                ElementsAre("cause 1 ended https://lagtrap.example/cause/1"));
}

TEST_F(AlertSenderSteps, QuietHoursKeepNewsUntilTheyEnd) {
    add_rule(R"("way":"webhook","quiet_from":"00:00","quiet_to":"00:30")");
    lose_runs("alpha", midnight_ns);
    look(midnight_ns + second_ns);
    EXPECT_THAT(taken(midnight_ns + second_ns), IsEmpty());
    look(midnight_ns + 30 * minute_ns);
    EXPECT_THAT(taken(midnight_ns + 30 * minute_ns), ElementsAre("host alpha"));
}

TEST_F(AlertSenderSteps, LastingFindingsAreRepeatedIfTheRuleAsksForIt) {
    struct Case {
        const char* members;
        std::uint64_t every_min;  // 0: never
    };
    std::uint64_t at_ns = midnight_ns, rule = 0;
    for (const Case& one :
         {Case{R"("way":"webhook")", 0}, Case{R"("way":"webhook","repeat_ns":1200000000000)", 20},
          Case{R"("way":"alertmanager")", 5}}) {
        rule = add_rule(one.members);
        lose_runs("alpha", at_ns);
        std::vector<std::uint64_t> minutes;
        for (std::uint64_t minute = 1; minute < 50; ++minute) {
            look(at_ns + minute * minute_ns);
            if (!taken(at_ns + minute * minute_ns).empty()) minutes.push_back(minute);
        }
        std::vector<std::uint64_t> expected{1};
        for (std::uint64_t minute = 1 + one.every_min; one.every_min > 0 && minute < 50;
             minute += one.every_min)
            expected.push_back(minute);
        EXPECT_EQ(minutes, expected) << one.members;
        ASSERT_TRUE(store_->rules().remove_rule(rule).ok());
        at_ns += 5 * hour_ns;
    }
}

TEST_F(AlertSenderSteps, AMessageHasFiftyFindings) {
    add_rule_about(R"("host_silent","silent_ns":3600000000000)", R"("way":"webhook")");
    for (int i = 10; i < 63; ++i) lose_runs("host-" + std::to_string(i), midnight_ns);
    look(midnight_ns + hour_ns);
    const auto found = taken(midnight_ns + hour_ns);
    ASSERT_EQ(found.size(), 51U);
    EXPECT_EQ(found.back(), "3 more");
}

TEST_F(AlertSenderSteps, AMessageIsDeliveredToItsReceiver) {
    ScriptedServer receiver({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"});
    const std::uint64_t id = add_rule(R"("way":"webhook")", receiver.url() + "/hook");
    lose_runs("alpha", midnight_ns);
    look(midnight_ns + second_ns);
    EXPECT_TRUE(sender().send_once(midnight_ns + 2 * second_ns).value());
    EXPECT_FALSE(sender().send_once(midnight_ns + 3 * second_ns).value());
    EXPECT_EQ(sender().figures().delivered, 1U);
    EXPECT_EQ(sender().figures().failures, 0U);
    const auto messages = store_->messages().of_rule(id).value();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].state, MessageState::Delivered);
    EXPECT_EQ(messages[0].reason, "");
    EXPECT_EQ(store_->rules().find_rule(id).value()->delivered, 1U);
    ASSERT_EQ(receiver.requests().size(), 1U);
    EXPECT_THAT(receiver.requests()[0], HasSubstr("POST /hook "));
    EXPECT_THAT(receiver.requests()[0], HasSubstr("{\"id\":\"" + messages[0].id + "\""));
}

TEST_F(AlertSenderSteps, WhatFailsForADayIsGivenUp) {
    const std::uint64_t id = add_rule(R"("way":"webhook")");
    lose_runs("alpha", midnight_ns);
    look(midnight_ns + second_ns);
    // The message is from 2024, so its day is over.
    EXPECT_TRUE(sender().send_once(midnight_ns + 2 * second_ns).value());
    EXPECT_EQ(sender().figures().given_up, 1U);
    EXPECT_EQ(sender().figures().failures, 1U);
    EXPECT_EQ(sender().figures().delivered, 0U);
    EXPECT_THAT(log_, HasSubstr("attempt 1, given up"));
    const auto messages = store_->messages().of_rule(id).value();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].state, MessageState::GivenUp);
    EXPECT_THAT(messages[0].reason, HasSubstr("127.0.0.1"));
}

TEST_F(AlertSenderSteps, AMessageOfTodayIsTriedAgain) {
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    const std::uint64_t id = add_rule(R"("way":"webhook")");
    lose_runs("alpha", now_ns);
    look(now_ns);
    EXPECT_TRUE(sender().send_once(now_ns).value());
    EXPECT_EQ(sender().figures().given_up, 0U);
    EXPECT_THAT(log_, HasSubstr("attempt 1, retry in 5"));
    const auto messages = store_->messages().of_rule(id).value();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].state, MessageState::Waiting);
    EXPECT_GE(messages[0].next_realtime_ns, now_ns + 5 * second_ns);
    EXPECT_FALSE(sender().send_once(now_ns).value()) << "its pause is not over";
}

TEST_F(AlertSenderSteps, OnceStartedItLooksAndSendsByItself) {
    ScriptedServer receiver({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"});
    lose_runs("alpha", ClockSnapshot::take().realtime_ns);
    const std::uint64_t id = add_rule(R"("way":"webhook")", receiver.url() + "/hook");
    sender().start();
    sender().wake();
    while (sender().figures().delivered == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sender().stop();
    EXPECT_EQ(store_->rules().find_rule(id).value()->delivered, 1U);
    EXPECT_EQ(receiver.requests().size(), 1U);
    EXPECT_EQ(log_, "");
}

TEST(AlertMetrics, HaveAllFigures) {
    AlertFigures figures;
    figures.delivered = 1;
    figures.failures = 2;
    figures.given_up = 3;
    figures.look_failures = 4;
    MessageCounts counts;
    counts.waiting = 5;
    counts.unwell_rules = 6;
    EXPECT_EQ(alert_metrics(figures, counts),
              "# HELP lagtrap_server_messages_delivered_total Messages delivered.\n"
              "# TYPE lagtrap_server_messages_delivered_total counter\n"
              "lagtrap_server_messages_delivered_total 1\n"
              "# HELP lagtrap_server_message_failures_total Failed attempts to deliver a message.\n"
              "# TYPE lagtrap_server_message_failures_total counter\n"
              "lagtrap_server_message_failures_total 2\n"
              "# HELP lagtrap_server_messages_given_up_total Messages that could not be "
              "delivered.\n"
              "# TYPE lagtrap_server_messages_given_up_total counter\n"
              "lagtrap_server_messages_given_up_total 3\n"
              "# HELP lagtrap_server_rule_failures_total Failed evaluations of rules.\n"
              "# TYPE lagtrap_server_rule_failures_total counter\n"
              "lagtrap_server_rule_failures_total 4\n"
              "# HELP lagtrap_server_messages_waiting Messages waiting for delivery, on all "
              "servers.\n"
              "# TYPE lagtrap_server_messages_waiting gauge\n"
              "lagtrap_server_messages_waiting 5\n"
              "# HELP lagtrap_server_rules_unwell Rules whose last message or evaluation failed.\n"
              "# TYPE lagtrap_server_rules_unwell gauge\n"
              "lagtrap_server_rules_unwell 6\n");
}

}  // namespace
}  // namespace lagtrap::server::alert_sender_test
