// Which requests are answered, with a real capture controller.
#include "daemon/daemon_requests.hpp"

#include <optional>
#include <string>

#include <gmock/gmock.h>

#include "tests/unit/daemon/controller_fixture.hpp"

namespace lagtrap::daemon::daemon_requests_test {
namespace {

using namespace std::chrono_literals;
using boost::json::object;
using testing::HasSubstr;

class DaemonRequestsTest : public ControllerFixture {
  protected:
    void SetUp() override {
        ControllerFixture::SetUp();
        if (IsSkipped()) return;
        settings_.events[0].trace_length = settings_.events[0].trace_length_limit = 1h;
        use_settings();
        controller_->hold_merges(true);
        parts_.emplace(DaemonOptions{folder_ / "settings.xml", "/bin/false", "/bin/false", nullptr,
                                     log(), false});
        parts_->settings = settings_;
        parts_->controller = std::move(controller_);
        applier_.emplace(context_, *parts_);
        requests_.emplace(*parts_, *applier_);
    }
    void TearDown() override {
        requests_.reset();
        applier_.reset();
        parts_.reset();
        ControllerFixture::TearDown();
    }
    [[nodiscard]] std::string error_of(const object& request) {
        const object answer = requests_->answer(request);
        if (answer.at("ok").as_bool()) return "none";
        return std::string(answer.at("error").as_string());
    }
    [[nodiscard]] std::string client_error_of(const object& request) {
        const object answer = requests_->answer_client(request).object;
        if (answer.at("ok").as_bool()) return "none";
        return std::string(answer.at("error").as_string());
    }

    std::optional<DaemonParts> parts_;
    std::optional<SettingsApplier> applier_;
    std::optional<DaemonRequests> requests_;
};

TEST_F(DaemonRequestsTest, AreAnsweredByTheirCommand) {
    EXPECT_EQ(error_of({}), "the request has no \"command\"");
    EXPECT_EQ(error_of({{"command", 7}}), "the request has no \"command\"");
    EXPECT_THAT(error_of({{"command", "stop"}}),
                HasSubstr("unknown command; expected status, trigger, record, watch, finish, "
                          "approve, decline, calls, functions, objects"));
    EXPECT_EQ(error_of({{"command", "trigger"}}), "\"trigger\" needs an \"event\"");
    EXPECT_EQ(error_of({{"command", "trigger"}, {"event", 7}}), "\"trigger\" needs an \"event\"");
    EXPECT_THAT(error_of({{"command", "trigger"}, {"event", "order"}}), HasSubstr("\"order\""));
    EXPECT_NE(error_of({{"command", "approve"}, {"session", ""}}), "none");
    EXPECT_NE(error_of({{"command", "decline"}, {"session", ""}}), "none");
    EXPECT_EQ(error_of({{"command", "finish"}, {"session", "another"}}),
              "no recording of this session runs");

    const object begun = requests_->answer({{"command", "trigger"}, {"event", "query"}});
    ASSERT_TRUE(begun.at("ok").as_bool()) << boost::json::serialize(begun);
    const std::string session(begun.at("session").as_string());
    EXPECT_EQ(session, parts_->controller->current_session());
    EXPECT_THAT(error_of({{"command", "trigger"}, {"event", "query"}}), HasSubstr("is running"));
    EXPECT_EQ(error_of({{"command", "finish"}, {"session", session}}), "none");
    EXPECT_FALSE(parts_->controller->busy());

    // What the client of a temporary event may ask for.
    for (const char* const command :
         {"approve", "decline", "record", "watch", "calls", "functions", "objects", "stop"})
        EXPECT_EQ(client_error_of({{"command", command}}),
                  "unknown command; expected status, trigger, finish, bundle")
            << command;
    EXPECT_EQ(client_error_of({}), "unknown command; expected status, trigger, finish, bundle");
    EXPECT_EQ(client_error_of({{"command", "trigger"}}), "\"trigger\" needs an \"event\"");

    // What is answered by lines, or by another process.
    const auto answer = std::make_shared<AnswerStream>([] {}, StreamClient{4711, 1001});
    for (const object& request : {object{}, object{{"command", "status"}},
                                  object{{"command", "trigger"}, {"event", "query"}}}) {
        const auto streams = requests_->stream(request, nullptr, answer);
        ASSERT_TRUE(streams);
        EXPECT_FALSE(*streams) << boost::json::serialize(request);
    }
    const auto records = requests_->stream({{"command", "record"}}, nullptr, answer);
    ASSERT_TRUE(records) << records.error().message;
    EXPECT_TRUE(*records);
    EXPECT_EQ(parts_->controller->current_client()->pid, 4711);
    EXPECT_THAT(infos_.back(), HasSubstr("recording 5.00 s for a client"));
    EXPECT_FALSE(requests_->stream({{"command", "record"}}, nullptr, answer)) << "one is running";
    const auto handed_over = requests_->hand_over({{"command", "watch"}}, Caller{}, -1);
    ASSERT_TRUE(handed_over);
    EXPECT_FALSE(*handed_over) << "this one watches a temporary event itself";
}

}  // namespace
}  // namespace lagtrap::daemon::daemon_requests_test
