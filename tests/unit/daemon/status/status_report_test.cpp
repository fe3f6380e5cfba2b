// The report of a daemon whose parts are real, except that its event has no probes.
#include "daemon/status/status_report.hpp"

#include <unistd.h>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "daemon/status/status_parts.hpp"
#include "tests/unit/daemon/controller_fixture.hpp"

namespace lagtrap::daemon::status_report_test {
namespace {

using namespace std::chrono_literals;
using boost::json::object;
using boost::json::value;

// Preparing its programs takes seconds, so there is one test.
class StatusReportTest : public ControllerFixture {
  protected:
    void SetUp() override {
        ControllerFixture::SetUp();
        if (IsSkipped()) return;
        use_settings();
        const Log log([](Log::Level level, const std::string& text) {
            if (level == Log::Level::Warning) ADD_FAILURE() << text;
        });
        reporter_ = RunReporter::create(
                        *spool_, [] {}, {}, log)
                        .value();
        keeper_ = std::make_unique<SpoolKeeper>(*spool_, spool::RetentionLimits{}, log);
        overhead_ = std::make_unique<OverheadWatch>(Log());
        overhead_->use(settings_.budget, controller_->monitor(), {});
    }
    void TearDown() override {
        if (overhead_) overhead_->stop();
        overhead_.reset();
        keeper_.reset();
        reporter_.reset();
        ControllerFixture::TearDown();
    }
    [[nodiscard]] object report() const {
        const ServiceFacts facts{11, "/etc/lagtrap/settings.xml", 12, "line 3: no such event"};
        return status_report(*controller_, *unwinder_, *reporter_, *keeper_, *overhead_, facts,
                             settings_);
    }

    std::unique_ptr<RunReporter> reporter_;
    std::unique_ptr<SpoolKeeper> keeper_;
    std::unique_ptr<OverheadWatch> overhead_;
};

TEST_F(StatusReportTest, HasEachPart) {
    object reported = report();
    EXPECT_EQ(reported.at("ok"), true);
    EXPECT_EQ(reported.at("version"), LAGTRAP_VERSION);
    EXPECT_EQ(reported.at("pid"), ::getpid());
    EXPECT_EQ(reported.at("started_realtime_ns"), 11);
    EXPECT_EQ(reported.at("settings"), (value{{"path", "/etc/lagtrap/settings.xml"},
                                              {"loaded_realtime_ns", 12},
                                              {"reload_error", "line 3: no such event"}}));
    EXPECT_EQ(reported.at("state"), "waiting");
    EXPECT_EQ(reported.at("pending"), nullptr);
    EXPECT_EQ(reported.at("capture"), nullptr);
    EXPECT_EQ(reported.at("cool_down"), cool_down_report(CaptureState::Waiting, 0, false));
    EXPECT_EQ(reported.at("last_bundle"), last_bundle_report(controller_->merges().last_bundle()));
    EXPECT_EQ(reported.at("merge_held_up"), nullptr);
    EXPECT_EQ(reported.at("batches"), batches_report(BatchTotals{}, ""));
    EXPECT_EQ(reported.at("budget"), budget_report(overhead_->status()));
    EXPECT_EQ(reported.at("unwinder").at("budget_bytes"), 8U << 20);
    EXPECT_EQ(reported.at("history").at("window"),
              window_report(controller_->history(), settings_.history));
    EXPECT_EQ(reported.at("history").at("again_in_seconds"), 0.0);
    EXPECT_EQ(reported.at("history").at("times_again_in_seconds"), 0.0);
    EXPECT_GT(reported.at("cost").at("daemon_cpu_ns").to_number<std::uint64_t>(), 0U);
    EXPECT_GT(reported.at("cost").at("memory_bytes").to_number<std::uint64_t>(), 1U << 20);
    ASSERT_EQ(reported.at("events").as_array().size(), 1U);
    EXPECT_EQ(reported.at("events").at(0).at("name"), "query");
    EXPECT_EQ(reported.at("events").at(0).at("without_recordings"), nullptr);

    controller_->hold_events({{"query", std::chrono::steady_clock::now() + 1h}});
    reported = report();
    const value& held = reported.at("events").at(0).at("without_recordings");
    ASSERT_TRUE(held.is_object());
    EXPECT_EQ(held.at("reason"), "daily-limit");

    const Status begun = controller_->trigger("query", 1h);
    ASSERT_TRUE(begun) << begun.error().message;
    reported = report();
    EXPECT_EQ(reported.at("state"), "recording");
    const value& capture = reported.at("capture");
    EXPECT_EQ(capture.at("session"), value(controller_->current_session()));
    EXPECT_EQ(capture.at("event"), "query");
    EXPECT_GT(capture.at("seconds_left").to_number<double>(), 60.0);
    controller_->shut_down();
}

}  // namespace
}  // namespace lagtrap::daemon::status_report_test
