#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_timeline.hpp"
#include "analysis/flame.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::flame_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr auto at = [](std::uint64_t time) { return static_cast<std::int64_t>(time); };

// 40 ms in work, 50 ms waiting for a lock whose holder computes, 10 ms in the kernel; and runs of 4
// ms.
TraceBuilder delay_and_normal_runs() {
    TraceBuilder builder(400 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "holder");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 11);
    builder.samples(20 * ms, 60 * ms, 0, 10, 10, {"main", "work"});
    builder.switched(60 * ms, 0, 10, 1, 0)
        .off_cpu(60 * ms, 10, 10, {"main", "lock", "k:futex_wait"});
    builder.samples(60 * ms, 110 * ms, 1, 10, 11, {"hold"});
    builder.waking(110 * ms, 1, 11, 10).switched(110 * ms, 0, 0, 0, 10);
    builder.samples(110 * ms, 120 * ms, 0, 10, 10, {"main", "k:getpid"});
    builder.samples(200 * ms, 300 * ms, 0, 10, 10, {"main", "work"});
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    builder.run(TraceBuilder::delay(2, "work", at(200 * ms), 3 * ms, 10 * ms, 10, 10), false);
    builder.run(TraceBuilder::delay(3, "work", at(250 * ms), 5 * ms, 10 * ms, 10, 10), false);
    return builder;
}

struct Line {
    std::uint64_t value_ns = 0, baseline_ns = 0;
    FlameKind kind = FlameKind::User;
    bool operator==(const Line&) const = default;
};

std::map<std::string, Line> lines_of(const Flame& flame) {
    std::vector<std::string> paths;
    std::map<std::string, Line> lines;
    for (std::size_t i = 0; i < flame.nodes.size(); ++i) {
        const FlameNode& node = flame.nodes[i];
        EXPECT_LT(node.parent, static_cast<std::int32_t>(i));
        std::string path =
            node.parent < 0 ? "" : paths[static_cast<std::size_t>(node.parent)] + "/";
        paths.push_back(path += flame.names[node.name].function);
        lines[path] = {node.value_ns, node.baseline_ns, node.kind};
    }
    return lines;
}

class FlameTest : public testing::Test {
  protected:
    void SetUp() override {
        auto decoded = builder.decode();
        ASSERT_TRUE(decoded);
        recording = std::move(decoded).value();
        profile = profile_of_delay(recording, builder.system.delays[0]);
        normal = profiles_of_normal_runs(recording, "work", 10);
    }
    TraceBuilder builder = delay_and_normal_runs();
    Recording recording;
    RunProfile profile;
    std::vector<RunProfile> normal;
};

TEST_F(FlameTest, shows_time_by_calls_beside_the_mean_of_normal_runs) {
    const Flame flame = flame_of(profile, normal, FlameTime::All);
    EXPECT_EQ(flame.total_ns, 100 * ms);
    EXPECT_EQ(flame.baseline_runs, 2);
    EXPECT_EQ(flame.baseline_total_ns, 4 * ms);
    EXPECT_EQ(flame.dropped, 0);
    const auto lines = lines_of(flame);
    EXPECT_EQ(lines.at("/main"), (Line{100 * ms, 4 * ms, FlameKind::User}));
    EXPECT_EQ(lines.at("/main/work"), (Line{40 * ms, 4 * ms, FlameKind::User}));
    EXPECT_EQ(lines.at("/main/getpid"), (Line{10 * ms, 0, FlameKind::Kernel}));
    const std::string wait = "/main/lock/futex_wait/blocked: lock (futex)";
    EXPECT_EQ(lines.at(wait), (Line{50 * ms, 0, FlameKind::State}));
    EXPECT_EQ(lines.at(wait + "/waits for holder/hold"), (Line{50 * ms, 0, FlameKind::User}));
}

TEST_F(FlameTest, shows_one_kind_of_time) {
    EXPECT_EQ(flame_of(profile, normal, FlameTime::OnCpu).total_ns, 50 * ms);
    EXPECT_EQ(flame_of(profile, normal, FlameTime::OffCpu).total_ns, 50 * ms);
    EXPECT_EQ(flame_of(profile, normal, FlameTime::OffCpu).baseline_total_ns, 0);
    const auto lines = lines_of(flame_of(profile, {}, FlameTime::All, FlameView::OwnStack));
    EXPECT_TRUE(lines.contains("/main/lock/futex_wait/blocked: lock (futex)"));
    EXPECT_FALSE(lines.contains("/main/lock/futex_wait/blocked: lock (futex)/waits for holder"));
}

TEST_F(FlameTest, small_nodes_go_first_and_are_counted) {
    const Flame whole = flame_of(profile, normal, FlameTime::All);
    const Flame flame = flame_of(profile, normal, FlameTime::All, FlameView::WaitChain, 3);
    EXPECT_EQ(flame.nodes.size(), 3);
    EXPECT_EQ(flame.dropped, whole.nodes.size() - 3);
    const auto lines = lines_of(flame);
    EXPECT_EQ(lines.at("").value_ns, 100 * ms);
    EXPECT_EQ(lines.at("/main/lock").value_ns, 50 * ms);
}

TEST_F(FlameTest, timeline_shows_each_moment) {
    const DelayTimeline timeline = timeline_of_delay(recording, builder.system.delays[0]);
    ASSERT_EQ(timeline.intervals.size(), 3);
    EXPECT_EQ(timeline.intervals[0].kind, TimeKind::OnCpu);
    EXPECT_EQ(timeline.intervals[0].cpu, 0);
    const TimelineInterval& wait = timeline.intervals[1];
    EXPECT_EQ(wait.kind, TimeKind::Blocked);
    EXPECT_EQ(wait.from_ns, 40 * ms);
    EXPECT_EQ(wait.to_ns, 90 * ms);
    EXPECT_EQ(wait.reason, "lock (futex)");
    ASSERT_TRUE(wait.waker);
    EXPECT_EQ(wait.waker->thread, "holder");
    EXPECT_EQ(wait.waker->process, "app");
    EXPECT_EQ(recording.stacks[wait.stack].size(), 3);
    EXPECT_EQ(timeline.intervals[2].to_ns, 100 * ms);
    EXPECT_EQ(timeline.samples.size(), 50);
    EXPECT_EQ(timeline.samples[1].at_ns, 1 * ms);
    EXPECT_EQ(timeline.dropped, 0);
}

// 10 ms in code made at run time, 20 ms waiting for a CPU, 30 ms unknown, 40 ms waiting for a
// thread without a name.
RunProfile made_profile() {
    RunProfile profile;
    profile.frames = {{"main", "/usr/bin/app", false}, {"jitted", "[jit]", false}};
    profile.nodes = {{}, {0, 0}, {1, 1}};
    profile.texts = {"", "its thread had ended", "pipe"};
    const auto add = [&](std::uint64_t time_ns, std::vector<ProfileLink> links) {
        profile.entries.push_back({time_ns, std::move(links)});
        profile.duration_ns += time_ns;
    };
    add(10 * ms, {{TimeKind::OnCpu, 0, 0, 2}});
    add(20 * ms, {{TimeKind::Runnable, 0, 0, 1}});
    add(30 * ms, {{TimeKind::Unknown, 1, 0, 1}});
    add(40 * ms, {{TimeKind::Blocked, 2, 0, 1}, {TimeKind::OnCpu, 0, 0, 1}});
    return profile;
}

TEST(Flame, each_state_has_its_words) {
    const auto lines = lines_of(flame_of(made_profile(), {}, FlameTime::All));
    EXPECT_EQ(lines.at("/main/jitted"), (Line{10 * ms, 0, FlameKind::RunTimeCode}));
    EXPECT_EQ(lines.at("/main/waits for a CPU"), (Line{20 * ms, 0, FlameKind::State}));
    EXPECT_EQ(lines.at("/main/unknown: its thread had ended"),
              (Line{30 * ms, 0, FlameKind::State}));
    EXPECT_EQ(lines.at("/main/blocked: pipe/waits for another thread/main"),
              (Line{40 * ms, 0, FlameKind::User}));
    EXPECT_EQ(lines.size(), 8U);
}

TEST(Flame, time_off_a_cpu_is_waiting_for_a_cpu_or_for_something_else) {
    const RunProfile profile = made_profile();
    EXPECT_EQ(flame_of(profile, {}, FlameTime::OnCpu).total_ns, 10 * ms);
    EXPECT_EQ(flame_of(profile, {}, FlameTime::OffCpu).total_ns, 60 * ms);
    EXPECT_EQ(flame_of(profile, {}, FlameTime::All).total_ns, 100 * ms);
}

TEST(Flame, several_profiles_have_their_mean) {
    const std::vector<RunProfile> profiles(4, made_profile());
    const std::vector<RunProfile> normal(2, made_profile());
    const Flame flame = flame_of_means(profiles, normal, FlameTime::All);
    EXPECT_EQ(flame.total_ns, 100 * ms);
    EXPECT_EQ(flame.baseline_total_ns, 100 * ms);
    EXPECT_EQ(flame.baseline_runs, 2U);
    const Flame none = flame_of_means({}, {}, FlameTime::All);
    EXPECT_EQ(none.nodes.size(), 1U);
    EXPECT_EQ(none.total_ns, 0U);
}

TEST(Flame, that_just_fits_loses_nothing) {
    const RunProfile profile = made_profile();
    const auto dropped = [&](std::size_t limit) {
        return flame_of(profile, {}, FlameTime::All, FlameView::WaitChain, limit).dropped;
    };
    EXPECT_EQ(dropped(8), 0U);
    EXPECT_EQ(dropped(7), 1U);
    EXPECT_EQ(dropped(0), 7U) << "the root stays";
}

TEST(DelayTimeline, many_short_intervals_become_one) {
    TraceBuilder builder(400 * ms);
    builder.thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    // 100 waits of 0.4 ms, then one of 50 ms.
    for (std::uint64_t i = 0; i <= 100; ++i) {
        const std::uint64_t from = (20 + i) * ms;
        const std::uint64_t until = from + (i == 100 ? 50 * ms : 400'000);
        builder.switched(from, 0, 10, 1, 0).off_cpu(from, 10, 10, {"main", "k:ep_poll"});
        builder.waking(until, 0, 0, 10, true).switched(until, 0, 0, 0, 10);
    }
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 160 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const DelayTimeline all = timeline_of_delay(*recording, builder.system.delays[0]);
    const DelayTimeline timeline = timeline_of_delay(*recording, builder.system.delays[0], 10);
    EXPECT_GT(all.intervals.size(), 200);
    EXPECT_LE(timeline.intervals.size(), 10);
    EXPECT_EQ(timeline.dropped, all.intervals.size() - timeline.intervals.size());
    std::uint64_t until = 0;
    bool long_wait = false;
    for (const TimelineInterval& interval : timeline.intervals) {
        EXPECT_EQ(interval.from_ns, until);
        until = interval.to_ns;
        long_wait |=
            interval.kind == TimeKind::Blocked && interval.to_ns - interval.from_ns == 50 * ms;
    }
    EXPECT_EQ(until, 160 * ms);
    EXPECT_TRUE(long_wait);
    EXPECT_EQ(timeline.intervals[0].reason, "too short to show");
}

}  // namespace
}  // namespace lagtrap::analysis::flame_tests
