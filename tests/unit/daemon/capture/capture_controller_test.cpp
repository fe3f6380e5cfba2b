// Recordings of the real kernel. Preparing its programs takes a second or more, so that there are
// few tests.
#include "daemon/capture/capture_controller.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "tests/unit/daemon/controller_fixture.hpp"

namespace lagtrap::daemon::capture_controller_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Surroundings : public NoSurroundings {
  public:
    void session_changed(const std::string& session) override { sessions.push_back(session); }
    void capture_begun(std::uint32_t event) override { begun.push_back(event); }
    void spool_changed() override { ++spool_changes; }
    std::vector<std::string> disabled_now() override { return {"stacks are disabled"}; }

    std::vector<std::string> sessions;
    std::vector<std::uint32_t> begun;
    int spool_changes = 0;
};

class CaptureControllerTest : public ControllerFixture {
  protected:
    void SetUp() override {
        ControllerFixture::SetUp();
        if (IsSkipped()) return;
        settings_.source_text = "<lagtrap/>";
        settings_.events[0].trace_length = settings_.events[0].trace_length_limit = 1h;
        settings_.recording.cool_down = 0ns;
        controller_.reset();
        controller_ = std::make_unique<CaptureController>(
            context_, *spool_, seen_,
            CaptureController::Options{"/bin/false", folder_ / "unanswered", log()});
        controller_->hold_merges(true);
        controller_->when_idle([this] { ++idle_; });
    }
    // Of a run of this process.
    static Breach breach() {
        Breach breach;
        breach.noticed_ns = breach.run.end_ns = monotonic_ns();
        breach.run.header.size_bytes = sizeof(breach.run);
        breach.run.begin_ns = breach.run.begin_hit_ns = breach.run.end_ns - 60'000'000;
        breach.run.begin_pid = breach.run.begin_tid = static_cast<std::uint32_t>(::getpid());
        std::strncpy(breach.run.comm, "worker", sizeof(breach.run.comm) - 1);
        return breach;
    }
    [[nodiscard]] fs::path in_spool(const std::string& session) const {
        return spool_->captures() / session;
    }
    template <typename Condition>
    void run_until(Condition&& condition) {
        const auto until = std::chrono::steady_clock::now() + 60s;
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), until);
            context_.restart();
            context_.run_one_for(100ms);
        }
    }

    Surroundings seen_;
    int idle_ = 0;
};

TEST_F(CaptureControllerTest, RecordsWhenItIsAsked) {
    use_settings();
    EXPECT_FALSE(controller_->busy());
    EXPECT_EQ(controller_->trigger("order").error().kind, ErrorKind::NotFound);
    EXPECT_THAT(seen_.sessions, IsEmpty());
    const auto before = std::chrono::steady_clock::now();
    ASSERT_TRUE(controller_->trigger("query", 10min));
    const std::string session = controller_->current_session();
    EXPECT_TRUE(controller_->busy());
    EXPECT_EQ(controller_->state(), CaptureState::Recording);
    EXPECT_EQ(controller_->current_event(), "query");
    EXPECT_FALSE(controller_->current_client());
    EXPECT_GE(controller_->state_ends(), before + 10min);
    EXPECT_LT(controller_->state_ends(), before + 30min) << "not the event's length";
    EXPECT_THAT(seen_.sessions, ElementsAre(session));
    EXPECT_THAT(seen_.begun, IsEmpty()) << "no delay began it";
    EXPECT_THAT(infos_.back(),
                StartsWith("recording 600 s for event query of a manual request, starting "));
    EXPECT_THAT(infos_.back(), testing::EndsWith(" after the breach"));

    const Status another = controller_->trigger("query");
    ASSERT_FALSE(another);
    EXPECT_EQ(another.error().kind, ErrorKind::Busy);
    EXPECT_EQ(another.error().message, "a recording for event query is running");
    EXPECT_EQ(controller_->finish("another").error().message, "no recording of this session runs");
    EXPECT_TRUE(controller_->busy());
    EXPECT_EQ(idle_, 0);
    ASSERT_TRUE(controller_->finish(session));
    EXPECT_EQ(idle_, 1);
    EXPECT_EQ(controller_->state(), CaptureState::Waiting);
    EXPECT_EQ(controller_->finish(session).error().kind, ErrorKind::NotFound);
    EXPECT_THAT(seen_.sessions, ElementsAre(session, ""));
    EXPECT_EQ(controller_->begun(), 1U);
    EXPECT_EQ(controller_->begun_for("query"), 1U);
    EXPECT_EQ(controller_->counts().failed, 0U);

    const auto recorded = trace::read_session(in_spool(session));
    ASSERT_TRUE(recorded) << recorded.error().message;
    EXPECT_EQ(recorded->id, session);
    EXPECT_TRUE(recorded->finished);
    EXPECT_EQ(recorded->trigger.reason, trace::TriggerReason::Manual);
    EXPECT_EQ(recorded->planned_length_ns, 600'000'000'000U);
    EXPECT_EQ(recorded->end, trace::RecordingEnd::Length);
    EXPECT_THAT(recorded->quality.omitted, testing::Contains("stacks are disabled"));
    EXPECT_FALSE(recorded->quality.truncated_by_size);
    EXPECT_EQ(read_file(in_spool(session) / "settings.xml", 100).value(), "<lagtrap/>");

    // A recording that the end of the daemon cuts short.
    ASSERT_TRUE(controller_->trigger("query"));
    EXPECT_GT(controller_->state_ends(), before + 59min);
    controller_->shut_down();
    EXPECT_EQ(idle_, 1);
    const auto cut = trace::read_session(in_spool(controller_->current_session()));
    ASSERT_TRUE(cut) << cut.error().message;
    EXPECT_FALSE(cut->finished);
}

TEST_F(CaptureControllerTest, ARecordingOfAClientIsItsOwn) {
    use_settings();
    const auto client = std::make_shared<AnswerStream>([] {}, StreamClient{4711, 1001});
    ASSERT_TRUE(controller_->record_for(client, 5s));
    const std::string session = controller_->current_session();
    EXPECT_THAT(client->take(), HasSubstr(session));
    EXPECT_THAT(infos_.back(), StartsWith("recording 5.00 s for a client, starting "));
    ASSERT_TRUE(controller_->current_client());
    EXPECT_EQ(controller_->current_client()->pid, 4711);
    EXPECT_EQ(controller_->trigger("query").error().message, "a recording for a client is running");
    EXPECT_EQ(controller_->record_for(client, 5s).error().kind, ErrorKind::Busy);
    EXPECT_EQ(controller_->begun_for("query"), 0U);
    EXPECT_THAT(seen_.sessions, IsEmpty()) << "nobody else hears of it";
    ASSERT_TRUE(controller_->finish(session));
    EXPECT_FALSE(fs::exists(in_spool(session)));
    EXPECT_TRUE(fs::exists(spool_->path() / "clients" / session / "capture/session.json"));

    // The spool cannot take another one.
    fs::remove_all(spool_->captures());
    ASSERT_TRUE(write_file(spool_->captures(), "no folder", 0640));
    ASSERT_TRUE(controller_->trigger("query"));
    EXPECT_FALSE(controller_->busy());
    EXPECT_EQ(controller_->counts().failed, 1U);
    EXPECT_EQ(seen_.spool_changes, 1);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_THAT(warnings_[0], StartsWith("the recording for event query failed: "));
}

TEST_F(CaptureControllerTest, ADelayIsRecordedUpToTheSizeLimit) {
    settings_.recording.capture_size_limit_bytes = 1;
    settings_.recording.cool_down = 1h;
    use_settings();
    controller_->on_breach(breach());
    ASSERT_TRUE(controller_->busy());
    const std::string session = controller_->current_session();
    EXPECT_THAT(seen_.begun, ElementsAre(0));
    EXPECT_THAT(infos_.back(), StartsWith("recording 3600 s for event query of worker (" +
                                          std::to_string(::getpid())));
    run_until([this] { return !controller_->busy(); });
    EXPECT_THAT(warnings_,
                ElementsAre("the recording for event query reached its size limit of 1 B and ends "
                            "early"));
    const auto recorded = trace::read_session(in_spool(session));
    ASSERT_TRUE(recorded) << recorded.error().message;
    EXPECT_TRUE(recorded->quality.truncated_by_size);
    EXPECT_EQ(recorded->end, trace::RecordingEnd::Size);
    EXPECT_EQ(recorded->trigger.reason, trace::TriggerReason::End);
    EXPECT_EQ(recorded->trigger.comm, "worker");

    EXPECT_EQ(controller_->state(), CaptureState::CoolingDown);
    EXPECT_FALSE(controller_->hourly_limit_reached());
    EXPECT_EQ(controller_->events_without_captures().count("query"), 1U);
    controller_->on_breach(breach());
    EXPECT_FALSE(controller_->busy()) << "it cools down";
    EXPECT_EQ(controller_->begun(), 1U);
}

TEST_F(CaptureControllerTest, AQuestionIsAnswered) {
    settings_.confirm = settings::Confirm{1h};
    use_settings();
    EXPECT_EQ(controller_->question(), nullptr);
    EXPECT_EQ(controller_->approve().error().kind, ErrorKind::Invalid);
    controller_->on_breach(breach());
    EXPECT_EQ(controller_->state(), CaptureState::Confirming);
    ASSERT_NE(controller_->question(), nullptr);
    EXPECT_EQ(controller_->question()->event, "query");
    ASSERT_FALSE(infos_.empty());
    EXPECT_THAT(infos_.front(), StartsWith("event query exceeded its threshold in worker ("));
    EXPECT_THAT(infos_.front(),
                HasSubstr(": recorded in memory, and kept after 3600 s unless declined"));
    ASSERT_TRUE(controller_->busy()) << "what was asked about is recorded";
    const std::string declined = controller_->current_session();
    EXPECT_EQ(controller_->question()->session, declined);
    EXPECT_TRUE(fs::exists(folder_ / "unanswered" / declined));
    EXPECT_EQ(controller_->decline("another").error().kind, ErrorKind::Invalid);
    ASSERT_TRUE(controller_->decline(declined));
    EXPECT_FALSE(controller_->busy());
    EXPECT_EQ(infos_.back(), "the recording is discarded");
    EXPECT_EQ(controller_->counts().declined, 1U);
    run_until([&] { return !fs::exists(folder_ / "unanswered" / declined); });
    EXPECT_FALSE(fs::exists(in_spool(declined)));

    controller_->on_breach(breach());
    const std::string approved = controller_->current_session();
    ASSERT_TRUE(controller_->approve());
    EXPECT_EQ(infos_.back(), "the recording is kept");
    EXPECT_EQ(controller_->state(), CaptureState::Recording) << "it goes on";
    ASSERT_TRUE(controller_->finish(approved));
    run_until([&] { return fs::exists(in_spool(approved) / "session.json"); });
    EXPECT_EQ(controller_->counts().declined, 1U);
    EXPECT_THAT(warnings_, IsEmpty());
}

}  // namespace
}  // namespace lagtrap::daemon::capture_controller_test
