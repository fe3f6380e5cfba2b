#include "server/reports/causes.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/reports/frame_names.hpp"
#include "tests/unit/server_reports/simulation.hpp"

namespace lagtrap::server::reports {
namespace {

using analysis::TimeKind;
using test::causes_of;
using test::Plant;
using test::simulate;
using test::Simulation;
using testing::HasSubstr;
using testing::StartsWith;

Simulation small(Plant plant, std::uint64_t seed = 1) {
    Simulation simulation;
    simulation.plant = plant;
    simulation.seed = seed;
    simulation.hosts = 100;
    return simulation;
}

class Planted : public testing::TestWithParam<Plant> {};

// The benchmark causes_bench does the same with 1,000 hosts and 100 seeds.
TEST_P(Planted, is_first) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const CauseReport report = causes_of(simulate(small(GetParam(), seed)));
        ASSERT_FALSE(report.causes.empty()) << *report.silent_because;
        const Cause& cause = report.causes[0];
        EXPECT_THAT(cause.title, StartsWith(test::planted_function(GetParam())));
        EXPECT_EQ(cause.frames[cause.state == TimeKind::Blocked && GetParam() == Plant::Disk ? 1 : 0].function,
                  test::planted_function(GetParam()));
        EXPECT_NEAR(static_cast<double>(cause.excess_ns), 227e6, 50e6);
        EXPECT_NEAR(static_cast<double>(cause.affected_runs), 100, 30);
        EXPECT_NEAR(cause.share, 0.5, 0.15);
        EXPECT_LT(cause.q_value, 0.001);
        EXPECT_FALSE(cause.single_host);
        EXPECT_GT(cause.hosts, 50);
        EXPECT_GT(cause.users, 50);
        ASSERT_TRUE(cause.example);
        EXPECT_THAT(cause.example->bundle, StartsWith("bundle-"));
        EXPECT_EQ(cause.example->delay, 1);
    }
}

TEST_P(Planted, has_the_same_signature_on_other_machines_and_in_other_builds) {
    Simulation simulation = small(GetParam());
    const std::string signature = causes_of(simulate(simulation)).causes.at(0).signature;
    EXPECT_EQ(signature.size(), 16);
    simulation.seed = 77;
    simulation.more_frames = 5;
    auto runs = simulate(simulation);
    for (auto& run : runs) {
        run.run.host += "-b";
        run.run.build = "later";
        for (auto& frame : run.profile.frames) {
            frame.module = "/opt/other" + frame.module;
            frame.function += ".isra.0";
        }
    }
    const CauseReport later = causes_of(runs);
    ASSERT_FALSE(later.causes.empty()) << *later.silent_because;
    EXPECT_EQ(later.causes[0].signature, signature);
}

TEST_P(Planted, is_first_where_one_host_sends_most_runs_for_a_reason_of_its_own) {
    Simulation simulation = small(GetParam(), 3);
    simulation.loud_host_runs = 2000;
    const CauseReport report = causes_of(simulate(simulation));
    ASSERT_GE(report.causes.size(), 2);
    EXPECT_THAT(report.causes[0].title, StartsWith(test::planted_function(GetParam())));
    EXPECT_FALSE(report.causes[0].single_host);
    const auto own = std::find_if(report.causes.begin(), report.causes.end(),
                                  [](const Cause& cause) { return cause.title.starts_with("write_log"); });
    ASSERT_NE(own, report.causes.end());
    EXPECT_TRUE(own->single_host);
    EXPECT_EQ(own->hosts, 1);
    EXPECT_EQ(own->state, TimeKind::Blocked);
}

TEST_P(Planted, history_shows_the_build_that_brought_it) {
    Simulation simulation = small(GetParam(), 5);
    simulation.builds = 5;
    simulation.first_build = 3;
    simulation.hosts = 200;
    const Cause cause = causes_of(simulate(simulation)).causes.at(0);
    EXPECT_THAT(cause.title, StartsWith(test::planted_function(GetParam())));
    ASSERT_EQ(cause.builds.size(), 5);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(cause.builds[i].build, "build-" + std::to_string(i));
        EXPECT_EQ(cause.builds[i].runs, 40 * 4);
        EXPECT_EQ(cause.builds[i].affected > 20, i >= 3) << i;
        EXPECT_EQ(cause.builds[i].excess_ns > 100'000'000, cause.builds[i].affected > 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Causes, Planted, testing::Values(Plant::Cpu, Plant::Lock, Plant::Disk));

class Unplanted : public testing::TestWithParam<Plant> {};

TEST_P(Unplanted, is_silent) {
    int spoken = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const CauseReport report = causes_of(simulate(small(GetParam(), seed)));
        spoken += report.causes.empty() ? 0 : 1;
        EXPECT_EQ(report.silent_because.has_value(), report.causes.empty());
    }
    EXPECT_LE(spoken, 1);
}

TEST_P(Unplanted, is_silent_where_one_host_sends_most_runs) {
    Simulation simulation = small(GetParam(), 2);
    auto runs = simulate(simulation);
    // All but a tenth are said to be of one host, whose functions have times of their own.
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i % 10 != 0) runs[i].run.host = "loud";
    }
    const CauseReport report = causes_of(runs);
    EXPECT_TRUE(report.causes.empty()) << report.causes[0].title;
}

INSTANTIATE_TEST_SUITE_P(Causes, Unplanted, testing::Values(Plant::Nothing, Plant::Scale, Plant::Scattered));

TEST(Causes, say_how_they_are_meant) {
    const Cause disk = causes_of(simulate(small(Plant::Disk))).causes.at(0);
    EXPECT_EQ(disk.title, "planted_save: blocked, disk");
    EXPECT_EQ(disk.state, TimeKind::Blocked);
    EXPECT_EQ(disk.reason, "disk");
    EXPECT_EQ(disk.frames[0].function, "[disk]");
    EXPECT_EQ(disk.frames[1].function, "planted_save");
    EXPECT_EQ(disk.frames[1].module, "app-2.1");
    EXPECT_EQ(disk.frames.back().function, "main");

    const Cause lock = causes_of(simulate(small(Plant::Lock))).causes.at(0);
    EXPECT_EQ(lock.title, "planted_compaction in run_worker: what runs wait for (lock (futex))");
    EXPECT_EQ(lock.state, TimeKind::Blocked);
    EXPECT_EQ(lock.reason, "lock (futex)");
    std::vector<std::string> functions;
    for (const CauseFrame& frame : lock.frames) functions.push_back(frame.function);
    EXPECT_THAT(functions, testing::IsSupersetOf({"run_worker", "[lock (futex)]", "take_lock", "main"}));

    // What it calls comes in the same runs, and is not blamed in its place.
    const CauseReport cpu = causes_of(simulate(small(Plant::Cpu)));
    EXPECT_EQ(cpu.causes.at(0).title, "planted_parse: on CPU");
    for (const Cause& cause : cpu.causes) EXPECT_THAT(cause.title, testing::Not(StartsWith("scan")));
}

TEST(Causes, a_busy_machine_is_one_cause_wherever_the_run_stood) {
    auto runs = simulate(small(Plant::Nothing));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].run.delayed) continue;
        auto& profile = runs[i].profile;
        profile.entries.push_back({150'000'000, {{TimeKind::Runnable, 0, 0, static_cast<std::uint32_t>(2 + i % 9)}}});
        profile.duration_ns += 150'000'000;
    }
    const CauseReport report = causes_of(runs);
    ASSERT_EQ(report.causes.size(), 1);
    EXPECT_EQ(report.causes[0].title, "waits for a CPU");
    EXPECT_EQ(report.causes[0].state, TimeKind::Runnable);
    EXPECT_NEAR(static_cast<double>(report.causes[0].excess_ns), 150e6, 20e6);
}

// What blocks comes in the runs that compute more too, and their common caller has all the time of normal runs as well.
TEST(Causes, what_grew_more_than_all_else_is_found_in_a_caller_that_grew_as_everything_did) {
    std::vector<test::SimulatedRun> runs;
    for (std::uint64_t i = 0; i < 56; ++i) {
        const bool delayed = i % 4 == 0;
        test::SimulatedRun run;
        run.run.delayed = delayed;
        run.run.host = "alone";
        run.profile.frames = {{"main", "/bin/db", false},
                              {"exec_query", "/bin/db", false},
                              {"sort", "/bin/db", false},
                              {delayed ? "read_table" : "read_row", "/bin/db", false}};
        run.profile.nodes = {{0, 0}, {0, 0}, {1, 1}, {2, 2}, {2, 3}};
        run.profile.texts = {"", "disk"};
        const std::uint64_t computes_ns = (delayed ? 35'000'000 : 8'000'000) + i * 20'000;
        const std::uint64_t waits_ns = (delayed ? 35'000'000 : 2'000'000) + i * 10'000;
        run.profile.entries = {{computes_ns, {{TimeKind::OnCpu, 0, 0, 3}}}, {waits_ns, {{TimeKind::Blocked, 1, 0, 4}}}};
        run.profile.duration_ns = computes_ns + waits_ns;
        runs.push_back(std::move(run));
    }
    const CauseReport report = causes_of(runs);
    ASSERT_EQ(report.causes.size(), 1) << *report.silent_because;
    EXPECT_EQ(report.causes[0].title, "read_table: blocked, disk");
    EXPECT_EQ(report.causes[0].affected_runs, 14);
    EXPECT_TRUE(report.causes[0].single_host);
}

TEST(Causes, what_was_not_recorded_counts_for_nothing) {
    auto runs = simulate(small(Plant::Disk));
    const Cause before = causes_of(runs).causes.at(0);
    for (auto& run : runs) {
        if (!run.run.delayed) continue;
        const auto text = static_cast<std::uint32_t>(run.profile.texts.size());
        run.profile.texts.emplace_back("outside the recording");
        run.profile.entries.push_back({900'000'000, {{TimeKind::Unknown, text, 0, 0}}});
        run.profile.duration_ns += 900'000'000;
    }
    const Cause after = causes_of(runs).causes.at(0);
    EXPECT_EQ(after.title, before.title);
    EXPECT_EQ(after.share, before.share);
    EXPECT_EQ(after.affected_runs, before.affected_runs);
    EXPECT_EQ(after.excess_ns, before.excess_ns);
    // Of this kind nothing is left.
    for (auto& run : runs) {
        if (run.run.delayed) run.profile.entries = {run.profile.entries.back()};
    }
    EXPECT_THAT(*causes_of(runs).silent_because, HasSubstr("0 delayed runs"));
}

// The thread that is waited for stands in its function also while it waits for a CPU there.
TEST(Causes, who_holds_a_lock_is_blamed_on_a_busy_machine_too) {
    auto runs = simulate(small(Plant::Lock));
    for (auto& run : runs) {
        for (std::size_t i = run.profile.entries.size(); i-- > 0;) {
            if (run.profile.entries[i].links.size() < 2) continue;
            auto waits = run.profile.entries[i];
            waits.links.back().kind = TimeKind::Runnable;
            run.profile.duration_ns += waits.time_ns;
            run.profile.entries.push_back(std::move(waits));
        }
    }
    const Cause cause = causes_of(runs).causes.at(0);
    EXPECT_EQ(cause.title, "planted_compaction in run_worker: what runs wait for (lock (futex))");
    EXPECT_EQ(cause.signature, causes_of(simulate(small(Plant::Lock))).causes.at(0).signature);
}

TEST(Causes, too_little_data_is_no_answer) {
    EXPECT_THAT(*causes_of({}).silent_because, HasSubstr("0 delayed runs"));
    auto runs = simulate(small(Plant::Cpu));
    std::erase_if(runs, [](const auto& run) { return !run.run.delayed; });
    EXPECT_THAT(*causes_of(runs).silent_because, HasSubstr("0 normal runs"));
    EXPECT_EQ(causes_of(runs).delayed_runs, 200);
    EXPECT_EQ(causes_of(runs).bundles, 100);
}

// Two causes in different runs, one of them twice as frequent.
TEST(Causes, several_are_ranked) {
    Simulation simulation = small(Plant::Cpu);
    auto runs = simulate(simulation);
    simulation.plant = Plant::Disk;
    simulation.hosts = 50;
    for (auto& run : simulate(simulation)) {
        run.run.host += "-other";
        runs.push_back(std::move(run));
    }
    const CauseReport report = causes_of(runs);
    ASSERT_GE(report.causes.size(), 2);
    EXPECT_THAT(report.causes[0].title, StartsWith("planted_parse"));
    EXPECT_THAT(report.causes[1].title, StartsWith("planted_save"));
}

TEST(Causes, are_the_same_again_and_in_any_order_of_runs) {
    auto runs = simulate(small(Plant::Lock, 4));
    const CauseReport one = causes_of(runs);
    std::reverse(runs.begin(), runs.end());
    const CauseReport other = causes_of(runs);
    ASSERT_EQ(one.causes.size(), other.causes.size());
    for (std::size_t i = 0; i < one.causes.size(); ++i) {
        EXPECT_EQ(one.causes[i].signature, other.causes[i].signature);
        EXPECT_EQ(one.causes[i].affected_runs, other.causes[i].affected_runs);
    }
}

TEST(Causes, limits_are_kept_and_counted) {
    const auto runs = simulate(small(Plant::Cpu));
    CauseOptions options;
    options.most_entries = 1000;
    EXPECT_GT(causes_of(runs, options).runs_left_out, 300);
    options = {};
    options.most_nodes = 5;
    const CauseReport report = causes_of(runs, options);
    EXPECT_GT(report.paths_cut, 0);
    options = {};
    options.most_causes = 1;
    EXPECT_EQ(causes_of(runs, options).causes.size(), 1);
}

TEST(FrameNames, are_those_of_every_build) {
    EXPECT_EQ(stable_function("parse.isra.0"), "parse");
    EXPECT_EQ(stable_function("parse [clone .cold]"), "parse");
    EXPECT_EQ(stable_function("read@@GLIBC_2.34"), "read");
    EXPECT_EQ(stable_function("[app.cold.so]"), "[app.cold.so]");
    EXPECT_EQ(stable_function(""), "");
    EXPECT_EQ(stable_module("/usr/lib/x86_64-linux-gnu/libc.so.6"), "libc.so");
    EXPECT_EQ(stable_module("app"), "app");
    EXPECT_TRUE(is_run_time("memcpy", "libc.so"));
    EXPECT_TRUE(is_run_time("std::sort<int*>", "app"));
    EXPECT_TRUE(is_run_time("start_thread", "app"));
    EXPECT_FALSE(is_run_time("main", "app"));
}

}  // namespace
}  // namespace lagtrap::server::reports
