// A history that was learned before, with a real event monitor.
#include "daemon/thresholds/threshold_watch.hpp"

#include <filesystem>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "tests/unit/daemon/controller_fixture.hpp"

namespace lagtrap::daemon::threshold_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// Preparing its programs takes seconds, so there is one test.
class ThresholdWatchTest : public ControllerFixture {
  protected:
    void SetUp() override {
        ControllerFixture::SetUp();
        if (IsSkipped()) return;
        settings_.auto_threshold.learn = 0ns;
        settings_.auto_threshold.captures_per_day = 2;
        settings_.events[0].threshold = settings::max_threshold;
        settings_.events[0].threshold_rule = settings::ThresholdRule{};
        learn();
        use_settings();
        watch_.emplace(*controller_, folder_ / "history", log());
    }
    void TearDown() override {
        watch_.reset();
        ControllerFixture::TearDown();
    }
    // Writes the history of an earlier daemon.
    void learn() {
        const ClockSnapshot now = ClockSnapshot::take();
        ThresholdKeeper earlier(
            folder_ / "history",
            Log([](Log::Level, const std::string& text) { ADD_FAILURE() << text; }), now);
        earlier.use(settings_);
        ThresholdKeeper::Totals totals;
        totals["query"][lagtrap_histogram_bucket(2'000'000)] = 500;
        earlier.look(totals, now);
        learned_ns_ = earlier.decisions().at(0).threshold_ns;
        EXPECT_LT(learned_ns_, 10'000'000U);
        earlier.finish();
    }

    std::uint64_t learned_ns_ = 0;
    std::optional<ThresholdWatch> watch_;
};

TEST_F(ThresholdWatchTest, WhatWasLearnedIsInForceAndCapturesAreLimited) {
    const auto learned = std::chrono::nanoseconds(static_cast<std::int64_t>(learned_ns_));
    settings::Settings filled = settings_;
    watch_->fill(filled);
    EXPECT_EQ(filled.events[0].threshold, learned);

    watch_->use(settings_);
    EXPECT_EQ(controller_->monitor().thresholds()->of_ns(0), learned_ns_);
    EXPECT_THAT(infos_,
                ElementsAre("event query has a threshold now: " + format_duration(learned)));
    watch_->look();
    EXPECT_EQ(infos_.size(), 1U) << "said once";

    watch_->note_capture(0);
    EXPECT_THAT(warnings_, IsEmpty());
    EXPECT_THAT(controller_->events_without_captures(), IsEmpty());
    watch_->note_capture(0);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_THAT(warnings_[0], StartsWith("event query used its 2 captures per day; none for "));
    EXPECT_EQ(controller_->events_without_captures().size(), 1U);
    watch_->look();
    EXPECT_EQ(warnings_.size(), 1U) << "said once";

    std::filesystem::remove(folder_ / "history");
    watch_->finish();
    EXPECT_TRUE(std::filesystem::exists(folder_ / "history"));
    EXPECT_EQ(watch_->keeper().decisions().at(0).captures, 2U);
}

}  // namespace
}  // namespace lagtrap::daemon::threshold_watch_test
