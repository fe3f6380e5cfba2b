#include "daemon/thresholds/threshold_keeper.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "daemon/thresholds/threshold_report.hpp"

namespace lagtrap::daemon::threshold_keeper_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t hour = RunHistory::hour_ns;
constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t longest = 3'600'000 * ms;

settings::Settings settings_of(std::optional<settings::ThresholdRule> rule) {
    settings::Settings settings;
    settings::Event fixed;
    fixed.name = "fixed";
    fixed.threshold = 5ms;
    settings::Event query;
    query.name = "query";
    query.begin.name = "start";
    query.threshold = rule ? settings::max_threshold : 50ms;
    query.threshold_rule = rule;
    settings.events = {fixed, query};
    return settings;
}

class Keeping : public testing::Test {
  protected:
    Keeping() {
        folder_ = std::filesystem::path(testing::TempDir()) /
                  ("threshold-keeper-" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        now_ = {1'000 * hour, 2'000 * hour, 490'000 * hour};
        start();
    }
    ~Keeping() override {
        keeper_.reset();
        std::filesystem::remove_all(folder_);
    }

    void start() {
        keeper_.reset();
        totals_.clear();
        keeper_ = std::make_unique<ThresholdKeeper>(
            folder_ / "history",
            Log([this](Log::Level, const std::string& text) { warnings_.push_back(text); }), now_);
        keeper_->use(settings_of(settings::ThresholdRule{}));
    }

    void pass(std::uint64_t time_ns) {
        now_.monotonic_ns += time_ns;
        now_.boottime_ns += time_ns;
        now_.realtime_ns += time_ns;
    }

    std::uint64_t look(std::uint64_t more_runs) {
        totals_["query"][lagtrap_histogram_bucket(2 * ms)] += more_runs;
        keeper_->look(totals_, now_);
        return keeper_->decisions().at(1).threshold_ns;
    }

    // The event is in the settings again.
    std::uint64_t look_again() {
        keeper_->use(settings_of(settings::ThresholdRule{}));
        return look(0);
    }

    std::filesystem::path folder_;
    ClockSnapshot now_;
    std::vector<std::string> warnings_;
    ThresholdKeeper::Totals totals_;
    std::unique_ptr<ThresholdKeeper> keeper_;
};

TEST_F(Keeping, LearnsAndRemembersOverARestart) {
    EXPECT_EQ(look(500), longest);
    pass(hour);
    const std::uint64_t learned_ns = look(1);
    EXPECT_LT(learned_ns, 10 * ms);
    EXPECT_FALSE(keeper_->decisions().contains(0)) << "the threshold is fixed";
    keeper_->finish();
    start();
    settings::Settings settings = settings_of(settings::ThresholdRule{});
    keeper_->fill(settings);
    EXPECT_EQ(settings.events[0].threshold, 5ms);
    EXPECT_EQ(settings.events[1].threshold, std::chrono::nanoseconds(learned_ns));
    EXPECT_EQ(look(0), learned_ns);
    EXPECT_EQ(keeper_->decisions().at(1).runs, 501U);
    EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Keeping, RunsOfAFixedThresholdAreKeptToo) {
    keeper_->use(settings_of(std::nullopt));
    totals_["query"][80] = 1000;
    keeper_->look(totals_, now_);
    EXPECT_THAT(keeper_->decisions(), IsEmpty());
    pass(2 * hour);
    keeper_->use(settings_of(settings::ThresholdRule{}));
    EXPECT_LT(look(0), longest) << "known as soon as the settings ask for it";
}

TEST_F(Keeping, OtherMarkersLearnAnew) {
    (void)look(500);
    pass(2 * hour);
    ASSERT_LT(look(1), longest);
    settings::Settings settings = settings_of(settings::ThresholdRule{});
    settings.events[1].begin.name = "other";
    keeper_->fill(settings);
    EXPECT_EQ(settings.events[1].threshold, settings::max_threshold);
    keeper_->use(settings);
    EXPECT_EQ(look(0), longest);
}

TEST_F(Keeping, FollowsTheClock) {
    (void)look(500);
    pass(2 * hour);
    const std::uint64_t learned_ns = look(1);
    keeper_->note_capture(1, now_.realtime_ns);
    now_.realtime_ns -= 300'000 * hour;
    EXPECT_EQ(look(1), learned_ns);
    EXPECT_EQ(keeper_->decisions().at(1).runs, 502U);
    EXPECT_EQ(keeper_->decisions().at(1).captures, 1U);
    pass(24 * hour);
    EXPECT_EQ(look(0), learned_ns);
    EXPECT_EQ(keeper_->decisions().at(1).captures, 0U);
    keeper_->finish();
    now_.realtime_ns -= 100'000 * hour;
    start();
    EXPECT_EQ(look(0), learned_ns);
}

TEST_F(Keeping, CapturesAreRememberedAndLimited) {
    (void)look(500);
    pass(2 * hour);
    (void)look(1);
    for (int i = 0; i < 12; ++i) keeper_->note_capture(1, now_.realtime_ns);
    keeper_->note_capture(0, now_.realtime_ns);
    EXPECT_EQ(keeper_->decisions().at(1).closed_until_ns, now_.realtime_ns + 24 * hour);
    keeper_->finish();
    pass(hour);
    start();
    (void)look(0);
    EXPECT_EQ(keeper_->decisions().at(1).closed_until_ns, now_.realtime_ns + 23 * hour);
}

TEST_F(Keeping, AnEventThatReturnsAfterItsRunsWereForgottenLearnsAnew) {
    (void)look(500);
    pass(2 * hour);
    const std::uint64_t learned_ns = look(1);
    ASSERT_LT(learned_ns, longest);
    settings::Settings others = settings_of(settings::ThresholdRule{});
    others.events.pop_back();
    keeper_->use(others);
    pass((RunHistory::hours_kept - 10) * hour);
    keeper_->look({}, now_);
    EXPECT_EQ(look_again(), learned_ns) << "its runs are known yet";
    keeper_->use(others);
    pass(RunHistory::hours_kept * hour);
    keeper_->look({}, now_);
    EXPECT_EQ(look_again(), longest);
    EXPECT_EQ(keeper_->decisions().at(1).base_ns, 0U);
}

TEST_F(Keeping, SavesNowAndThen) {
    (void)look(500);
    keeper_->save(now_);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "history"));
    pass(hour / 6);
    keeper_->save(now_);
    keeper_.reset();
    EXPECT_TRUE(std::filesystem::exists(folder_ / "history"));
    EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Keeping, SaysWhatItCannotReadOrWrite) {
    keeper_.reset();
    std::ofstream(folder_ / "history") << "{}";
    std::ofstream(folder_ / "history.AbCdEf") << "unfinished";
    start();
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_THAT(warnings_[0], HasSubstr("thresholds are learned anew: it is no history of runs"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "history.AbCdEf"));
    std::filesystem::remove_all(folder_);
    keeper_->finish();
    keeper_->finish();
    ASSERT_EQ(warnings_.size(), 2U) << "once for each problem";
    EXPECT_THAT(warnings_[1], HasSubstr("the history of runs cannot be saved: "));
}

TEST_F(Keeping, IsReported) {
    EXPECT_EQ(threshold_report(*keeper_, 1, now_.realtime_ns), nullptr);
    (void)look(40);
    pass(hour / 2);
    (void)look(2);
    EXPECT_EQ(threshold_report(*keeper_, 0, now_.realtime_ns), nullptr);
    auto report = threshold_report(*keeper_, 1, now_.realtime_ns);
    EXPECT_EQ(report.at("rule"), "p99.9 x 3");
    EXPECT_EQ(report.at("reason"), "learning");
    EXPECT_EQ(report.at("runs").as_uint64(), 42U);
    EXPECT_EQ(report.at("learn_seconds_left").as_double(), 1800);
    pass(hour);
    (void)look(1000);
    for (int i = 0; i < 12; ++i) keeper_->note_capture(1, now_.realtime_ns);
    report = threshold_report(*keeper_, 1, now_.realtime_ns + hour);
    EXPECT_EQ(report.at("reason"), "percentile");
    EXPECT_EQ(report.at("captures").as_uint64(), 12U);
    EXPECT_EQ(report.at("closed_seconds_left").as_double(), 23 * 3600);
    EXPECT_EQ(report.at("floor_ns").as_uint64(), ms);
}

}  // namespace
}  // namespace lagtrap::daemon::threshold_keeper_test
