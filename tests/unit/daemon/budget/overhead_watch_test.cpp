// What the budget decides is carried out, with a real event monitor.
#include "daemon/budget/overhead_watch.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/watched_library_fixture.hpp"

namespace lagtrap::daemon::overhead_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class OverheadWatchTest : public WatchedLibrary {
  protected:
    [[nodiscard]] Log log() {
        return Log([this](Log::Level level, const std::string& text) {
            (level == Log::Level::Warning ? warnings_ : infos_).push_back(text);
        });
    }
    static void switch_often() {
        for (int i = 0; i < 100; ++i) std::this_thread::sleep_for(100us);
    }
    std::optional<TimedThreads> timed_threads_;
    std::vector<std::string> warnings_, infos_;
};

TEST_F(OverheadWatchTest, TheHistoryIsDroppedAndKeptAgain) {
    watch({query_in(path_)});
    OverheadWatch overhead(log());
    EXPECT_EQ(overhead.look({}), std::nullopt) << "there is nothing to watch";
    EXPECT_THAT(overhead.disabled_now(), IsEmpty());
    settings::Budget budget;
    budget.share_ppm = 10'000;
    budget.interval = 3s;
    budget.pause = 1ns;
    overhead.use(budget, *monitor_, {{1, false}, 0});
    EXPECT_EQ(overhead.interval(), 3s);
    EXPECT_EQ(overhead.look({{1, false}, 0}), std::nullopt) << "it costs nothing";
    EXPECT_EQ(overhead.status().looks, 1U);
    EXPECT_EQ(overhead.status().share_ppm, 10'000U);
    EXPECT_EQ(overhead.status().recording_share_ppm, 200'000U);
    EXPECT_EQ(overhead.status().disabled_count, 0U);
    constexpr std::uint64_t day_ns = 86'400'000'000'000;
    EXPECT_EQ(overhead.look({{1, false}, day_ns}), std::optional(false));
    ASSERT_THAT(warnings_, testing::SizeIs(1));
    EXPECT_THAT(warnings_[0], StartsWith("the time before a breach is not kept: it took "));
    EXPECT_THAT(warnings_[0], HasSubstr("; the limit is 1"));
    EXPECT_EQ(overhead.status().disabled_count, 1U);
    EXPECT_GT(overhead.status().used_ppm, 1'000'000U);
    EXPECT_EQ(overhead.look({{1, false}, day_ns}), std::optional(true)) << "its pause is over";
    EXPECT_THAT(infos_, ElementsAre("the time before a breach is kept again"));

    budget.pause = 1h;
    overhead.use(budget, *monitor_, {{1, false}, 0});
    EXPECT_EQ(overhead.history_again_in(), 0ns);
    EXPECT_EQ(overhead.look({{1, false}, day_ns}), std::optional(false));
    EXPECT_GT(overhead.history_again_in(), 50min);
    EXPECT_LE(overhead.history_again_in(), 1h);
    EXPECT_EQ(overhead.times_again_in(), 0ns);
    EXPECT_THAT(overhead.disabled_now(), ElementsAre("the time before a breach is not kept"));
    EXPECT_EQ(overhead.look({{1, false}, 2 * day_ns}), std::nullopt) << "it is off already";
    EXPECT_EQ(overhead.status().looks, 2U) << "since the settings came into force";
    overhead.stop();
    EXPECT_EQ(overhead.look({}), std::nullopt);
    EXPECT_THAT(overhead.disabled_now(), IsEmpty());
}

TEST_F(OverheadWatchTest, TheTimeOfRunsIsDroppedAndBrokenDownAgain) {
    settings::Settings settings = plain_settings({query_in(path_)});
    settings.history.times = true;
    timed_threads_.emplace(TimedThreads::create(settings).value());
    monitor_ = EventMonitor::create(settings, *store_, *timed_threads_, options_).value();
    ASSERT_TRUE(monitor_->count_times(true));
    OverheadWatch overhead(log());
    settings::Budget budget;
    budget.share_ppm = 1;
    budget.pause = 1h;
    overhead.use(budget, *monitor_, {});
    switch_often();
    EXPECT_EQ(overhead.look({}), std::nullopt) << "the history stays as it is";
    EXPECT_EQ(monitor_->times_cost_ns(), 0U);
    EXPECT_GT(overhead.times_again_in(), 50min);
    EXPECT_LE(overhead.times_again_in(), 1h);
    EXPECT_EQ(overhead.history_again_in(), 0ns);
    ASSERT_THAT(warnings_, testing::SizeIs(1));
    EXPECT_THAT(warnings_[0], StartsWith("the time of runs is not broken down: "));
    EXPECT_THAT(warnings_[0], HasSubstr("; retry in 3")) << "in 3600 s or a bit less";
    EXPECT_THAT(overhead.disabled_now(), ElementsAre("the time of runs is not broken down"));

    ASSERT_TRUE(monitor_->count_times(true));
    budget.pause = 1ns;
    overhead.use(budget, *monitor_, {});
    switch_often();
    EXPECT_EQ(overhead.look({}), std::nullopt);
    EXPECT_EQ(monitor_->times_cost_ns(), 0U);
    EXPECT_EQ(overhead.look({}), std::nullopt);
    EXPECT_THAT(infos_, ElementsAre("the time of runs is broken down again"));
    EXPECT_GT(monitor_->times_cost_ns(), 0U);
    EXPECT_THAT(overhead.disabled_now(), IsEmpty());
}

TEST_F(OverheadWatchTest, AnEventThatCostsTooMuchIsDetached) {
    watch({query_in(path_)});
    const LoadedLibrary library(path_);
    OverheadWatch overhead(log());
    settings::Budget budget;
    budget.share_ppm = 1;
    budget.pause = 1h;
    overhead.use(budget, *monitor_, {});
    EXPECT_EQ(overhead.again_in(0), 0ns);
    EXPECT_EQ(overhead.watched_ppm(0), 1'000'000U);
    EXPECT_TRUE(overhead.counts_all(0));
    monitor_->weights()->set(0, 5);  // as if it had been watched part of the time
    for (int i = 0; i < 2000; ++i) library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(overhead.look({}), std::nullopt) << "the history stays as it is";
    EXPECT_EQ(overhead.status().disabled_count, 1U);
    EXPECT_GT(overhead.again_in(0), 50min);
    EXPECT_EQ(overhead.stages_again_in(0), 0ns);
    EXPECT_EQ(overhead.disabled_at(0).look, 1U);
    ASSERT_THAT(warnings_, testing::SizeIs(1));
    EXPECT_THAT(warnings_[0], StartsWith("event query is disabled: its markers took "));
    EXPECT_THAT(warnings_[0], HasSubstr("; retry in "));
    await("the event to be disabled", [this] { return status().disabled; });
    EXPECT_FALSE(status().armed);
    EXPECT_EQ(monitor_->weights()->of(0), 1U) << "it is not watched part of the time any more";
    EXPECT_THAT(status().problem, StartsWith("disabled: its markers took "));
    EXPECT_THAT(overhead.disabled_now(),
                ElementsAre(StartsWith("event query is not watched: disabled: ")));
}

}  // namespace
}  // namespace lagtrap::daemon::overhead_watch_test
