#include "server/reports/causes.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/reports/frame_names.hpp"
#include "server/reports/rank_test.hpp"
#include "tests/unit/server_reports/simulation.hpp"

namespace lagtrap::server::reports::causes_test {
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

// The report's shares add up.
void expect_shares_of_one(const CauseReport& report) {
    double sum = report.unexplained_share;
    for (const Cause& cause : report.causes) {
        EXPECT_GT(cause.share, 0);
        sum += cause.share;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
}

class Planted : public testing::TestWithParam<Plant> {};

// The benchmark causes_bench does the same with 1,000 hosts and 100 seeds.
TEST_P(Planted, is_first) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const CauseReport report = causes_of(simulate(small(GetParam(), seed)));
        ASSERT_FALSE(report.causes.empty()) << *report.silent_because;
        const Cause& cause = report.causes[0];
        EXPECT_THAT(cause.title, HasSubstr(" in " + test::planted_functions(GetParam()).front()));
        EXPECT_EQ(
            cause.frames[cause.state == TimeKind::Blocked && GetParam() == Plant::Disk ? 1 : 0]
                .function,
            test::planted_functions(GetParam()).front());
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
    EXPECT_THAT(report.causes[0].title,
                HasSubstr(" in " + test::planted_functions(GetParam()).front()));
    EXPECT_FALSE(report.causes[0].single_host);
    const auto own = std::find_if(
        report.causes.begin(), report.causes.end(),
        [](const Cause& cause) { return cause.title == "Waits for the disk in write_log"; });
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
    EXPECT_THAT(cause.title, HasSubstr(" in " + test::planted_functions(GetParam()).front()));
    ASSERT_EQ(cause.builds.size(), 5);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(cause.builds[i].build, "build-" + std::to_string(i));
        EXPECT_EQ(cause.builds[i].runs, 40 * 4);
        EXPECT_EQ(cause.builds[i].affected > 20, i >= 3) << i;
        EXPECT_EQ(cause.builds[i].excess_ns > 100'000'000, cause.builds[i].affected > 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Causes, Planted, testing::Values(Plant::Cpu, Plant::Lock, Plant::Disk));

class PlantedSome : public testing::TestWithParam<Plant> {};

// Causes that normal runs have too, several in one run, several among runs: all are named, whatever
// share of the delays has them and however few hosts there are.
TEST_P(PlantedSome, are_all_named) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        for (const bool fleet : {true, false}) {
            for (const double affected : {0.5, 1.0}) {
                Simulation simulation = small(GetParam(), seed);
                simulation.affected = affected;
                simulation.hosts = fleet ? 100 : 1;
                simulation.delayed_of_host = fleet ? 4 : 150;
                simulation.normal_of_host = fleet ? 4 : 300;
                const CauseReport report = causes_of(simulate(simulation));
                EXPECT_TRUE(test::tells_the_truth(report, GetParam()))
                    << "seed " << seed << ", " << affected << (fleet ? ", fleet: " : ", one host: ")
                    << report.causes.size() << " causes, " << report.silent_because.value_or("");
                EXPECT_NEAR(report.unexplained_share, 1 - affected, 0.25);
                expect_shares_of_one(report);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Causes, PlantedSome,
                         testing::Values(Plant::Cpu, Plant::Lock, Plant::Disk, Plant::Longer,
                                         Plant::Tail, Plant::Two, Plant::Mixed));

// One of many delays waits long for something that normal runs also wait for; the others have
// another reason.
TEST(Causes, what_normal_runs_wait_for_is_named_with_their_time) {
    const CauseReport report = causes_of(simulate(small(Plant::Longer)));
    EXPECT_EQ(report.causes.at(0).title,
              "Waits on a network connection in planted_call, called by handle_1");
    EXPECT_NEAR(static_cast<double>(report.causes[0].normal_ns), 65e6, 20e6);
    EXPECT_NEAR(static_cast<double>(report.causes[0].excess_ns), 227e6, 60e6);
    const CauseReport match = causes_of(simulate(small(Plant::Tail)));
    EXPECT_EQ(match.causes.at(0).title, "Computes in planted_match");
    EXPECT_EQ(match.causes.at(0).frames.at(0).function, "planted_match");
}

// Of a truncated stack only frames of the library are left.
TEST(Causes, a_recursion_of_a_library_that_fills_the_stack_is_named) {
    auto runs = simulate(small(Plant::Nothing));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].run.delayed) continue;
        auto& profile = runs[i].profile;
        const auto frame = static_cast<std::uint32_t>(profile.frames.size());
        const char* const function = i % 3 == 0 ? "_M_dfs(int)" : "_M_rep_once_more(int, long)";
        profile.frames.push_back(
            {std::string("std::__detail::_Executor<char const*, false>::") + function,
             "/usr/bin/app-2.1", false});
        profile.nodes.push_back({0, frame});
        profile.entries.push_back(
            {150'000'000,
             {{TimeKind::OnCpu, 0, 0, static_cast<std::uint32_t>(profile.nodes.size() - 1)}}});
        profile.duration_ns += 150'000'000;
    }
    const CauseReport report = causes_of(runs);
    ASSERT_EQ(report.causes.size(), 1);
    EXPECT_EQ(report.causes[0].title, "Computes in std::__detail::_Executor");
    EXPECT_EQ(report.causes[0].affected_runs, 200);
}

TEST(Causes, without_one_all_is_unexplained) {
    const CauseReport report = causes_of(simulate(small(Plant::Scattered)));
    EXPECT_EQ(report.unexplained_share, 1);
}

TEST(Counts, are_exact) {
    // Fisher's example: 3 of 4 against 1 of 4; p = 17/70.
    EXPECT_NEAR(count_test(std::vector<CountGroup>{{4, 4, 3, 1}}), 17.0 / 70, 1e-12);
    // Two groups of two and two: both delayed runs of each are above, none of the others; 1/6 each.
    EXPECT_NEAR(count_test(std::vector<CountGroup>{{2, 2, 2, 0}, {2, 2, 2, 0}}), 1.0 / 36, 1e-12);
    EXPECT_EQ(count_test(std::vector<CountGroup>{{4, 4, 1, 3}}), 1);
    EXPECT_EQ(count_test(std::vector<CountGroup>{{4, 0, 4, 0}, {0, 4, 0, 0}}), 1);
    EXPECT_EQ(count_test({}), 1);
    const double few = count_test(std::vector<CountGroup>(200, {4, 4, 3, 1}));
    EXPECT_LT(few, 1e-20);
    EXPECT_NEAR(count_test(std::vector<CountGroup>(1000, {4, 4, 2, 2})), 1, 0.51);
}

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
    // Nine tenths are attributed to one host, whose functions have other times.
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i % 10 != 0) runs[i].run.host = "loud";
    }
    const CauseReport report = causes_of(runs);
    EXPECT_TRUE(report.causes.empty()) << report.causes[0].title;
}

INSTANTIATE_TEST_SUITE_P(Causes, Unplanted,
                         testing::Values(Plant::Nothing, Plant::Scale, Plant::Scattered,
                                         Plant::Slowest));

TEST(Causes, say_how_they_are_meant) {
    const Cause disk = causes_of(simulate(small(Plant::Disk))).causes.at(0);
    EXPECT_EQ(disk.title, "Waits for the disk in planted_save");
    EXPECT_EQ(disk.state, TimeKind::Blocked);
    EXPECT_EQ(disk.reason, "disk");
    EXPECT_EQ(disk.frames[0].function, "[disk]");
    EXPECT_EQ(disk.frames[1].function, "planted_save");
    EXPECT_EQ(disk.frames[1].module, "app-2.1");
    EXPECT_EQ(disk.frames.back().function, "main");
    EXPECT_EQ(disk.holder, "");

    const Cause lock = causes_of(simulate(small(Plant::Lock))).causes.at(0);
    EXPECT_EQ(lock.title,
              "Waits for a lock held by worker-* in planted_compaction, called by run_worker");
    EXPECT_EQ(lock.state, TimeKind::Blocked);
    EXPECT_EQ(lock.reason, "lock (futex)");
    EXPECT_EQ(lock.holder, "worker-*");
    ASSERT_FALSE(lock.delays.empty());
    for (const CauseDelay& delay : lock.delays) EXPECT_THAT(delay.holder, StartsWith("worker-"));
    std::vector<std::string> functions;
    for (const CauseFrame& frame : lock.frames) functions.push_back(frame.function);
    EXPECT_THAT(functions,
                testing::IsSupersetOf({"run_worker", "[lock (futex)]", "take_lock", "main"}));

    // Its callees occur in the same runs and are not blamed in its place.
    const CauseReport cpu = causes_of(simulate(small(Plant::Cpu)));
    EXPECT_EQ(cpu.causes.at(0).title, "Computes in planted_parse");
    for (const Cause& cause : cpu.causes)
        EXPECT_THAT(cause.title, testing::Not(HasSubstr("in scan")));
}

TEST(Causes, a_busy_machine_is_one_cause_wherever_the_run_stood) {
    auto runs = simulate(small(Plant::Nothing));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].run.delayed) continue;
        auto& profile = runs[i].profile;
        profile.entries.push_back(
            {150'000'000, {{TimeKind::Runnable, 0, 0, static_cast<std::uint32_t>(2 + i % 9)}}});
        profile.duration_ns += 150'000'000;
    }
    const CauseReport report = causes_of(runs);
    ASSERT_EQ(report.causes.size(), 1);
    EXPECT_EQ(report.causes[0].title, "Waits for a CPU");
    EXPECT_EQ(report.causes[0].state, TimeKind::Runnable);
    EXPECT_NEAR(static_cast<double>(report.causes[0].excess_ns), 150e6, 20e6);
}

// The blocking function occurs in runs that compute more, too, and their common caller has all the
// time of normal runs as well.
TEST(Causes, what_grew_in_a_caller_that_has_all_of_a_run_is_named_the_one_that_grew_more_first) {
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
        run.profile.entries = {{computes_ns, {{TimeKind::OnCpu, 0, 0, 3}}},
                               {waits_ns, {{TimeKind::Blocked, 1, 0, 4}}}};
        run.profile.duration_ns = computes_ns + waits_ns;
        runs.push_back(std::move(run));
    }
    const CauseReport report = causes_of(runs);
    ASSERT_EQ(report.causes.size(), 2);
    EXPECT_EQ(report.causes[0].title, "Waits for the disk in read_table");
    EXPECT_EQ(report.causes[1].title, "Computes in sort");
    expect_shares_of_one(report);
    EXPECT_NEAR(report.unexplained_share, 0, 0.05);
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
    // Nothing of this kind is left.
    for (auto& run : runs) {
        if (run.run.delayed) run.profile.entries = {run.profile.entries.back()};
    }
    EXPECT_THAT(*causes_of(runs).silent_because, HasSubstr("Delayed runs with a recording: 0;"));
}

// The holder is in its function even while it waits for a CPU there.
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
    EXPECT_EQ(cause.title,
              "Waits for a lock held by worker-* in planted_compaction, called by run_worker");
    EXPECT_EQ(cause.signature, causes_of(simulate(small(Plant::Lock))).causes.at(0).signature);
}

// For a holder that ran before the recording began, only the waiter's time is known.
TEST(Causes, a_holder_of_which_a_part_is_not_recorded_is_blamed_for_the_whole_wait) {
    auto runs = simulate(small(Plant::Lock));
    const Cause before = causes_of(runs).causes.at(0);
    for (auto& run : runs) {
        const auto text = static_cast<std::uint32_t>(run.profile.texts.size());
        run.profile.texts.emplace_back("outside the recording");
        const std::size_t count = run.profile.entries.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (run.profile.entries[i].links.size() < 2) continue;
            auto missing = run.profile.entries[i];
            missing.links.back() = {TimeKind::Unknown, text, 0, 0};
            missing.time_ns = run.profile.entries[i].time_ns * 4 / 10;
            run.profile.entries[i].time_ns -= missing.time_ns;
            run.profile.entries.push_back(std::move(missing));
        }
    }
    const Cause after = causes_of(runs).causes.at(0);
    EXPECT_EQ(after.title, before.title);
    EXPECT_EQ(after.share, before.share);
    EXPECT_EQ(after.excess_ns, before.excess_ns);
}

TEST(Causes, too_little_data_is_no_answer) {
    EXPECT_THAT(*causes_of({}).silent_because, HasSubstr("Delayed runs with a recording: 0;"));
    auto runs = simulate(small(Plant::Cpu));
    std::erase_if(runs, [](const auto& run) { return !run.run.delayed; });
    EXPECT_THAT(*causes_of(runs).silent_because,
                HasSubstr("Normal runs in the recordings to compare with: 0;"));
    EXPECT_EQ(causes_of(runs).delayed_runs, 200);
    EXPECT_EQ(causes_of(runs).bundles, 100);
}

TEST(Causes, a_wait_of_which_nothing_is_known_is_said_to_be_unknown) {
    std::vector<test::SimulatedRun> runs;
    for (std::uint64_t i = 0; i < 56; ++i) {
        test::SimulatedRun run;
        run.run.delayed = i % 2 == 0;
        run.run.host = "host-" + std::to_string(i % 7);
        run.profile.frames = {{"main", "/bin/db", false}};
        run.profile.nodes = {{0, 0}, {0, 0}};
        run.profile.texts = {"", "unknown reason"};
        const std::uint64_t waits_ns = (run.run.delayed ? 80'000'000 : 1'000'000) + i * 10'000;
        run.profile.entries = {{5'000'000, {{TimeKind::OnCpu, 0, 0, 1}}},
                               {waits_ns, {{TimeKind::Blocked, 1, 0, 0}}}};
        run.profile.duration_ns = 5'000'000 + waits_ns;
        runs.push_back(std::move(run));
    }
    const CauseReport unknown = causes_of(runs);
    EXPECT_TRUE(unknown.causes.empty());
    EXPECT_EQ(unknown.silent_because,
              "Delayed runs were blocked longer than normal ones, but neither the reason nor the "
              "place is known.");
    for (auto& run : runs) run.profile.texts[1] = "disk";
    EXPECT_EQ(causes_of(runs).causes.at(0).title, "Waits for the disk");
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
    EXPECT_EQ(report.causes[0].title, "Computes in planted_parse");
    EXPECT_EQ(report.causes[1].title, "Waits for the disk in planted_save");
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
    options.max_entries = 1000;
    EXPECT_GT(causes_of(runs, options).runs_left_out, 300);
    options = {};
    options.max_nodes = 5;
    const CauseReport report = causes_of(runs, options);
    EXPECT_GT(report.paths_cut, 0);
    options = {};
    options.max_causes = 1;
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
    EXPECT_EQ(owner_of("std::__detail::_Executor<char const*, false>::_M_dfs(int)"),
              "std::__detail::_Executor");
    EXPECT_EQ(owner_of("void std::sort<std::vector<int>::iterator>(int)"), "std");
    EXPECT_EQ(owner_of("memcpy"), "memcpy");
    EXPECT_EQ(owner_of(""), "");
    EXPECT_TRUE(is_run_time("memcpy", "libc.so"));
    EXPECT_TRUE(is_run_time("std::sort<int*>", "app"));
    EXPECT_TRUE(is_run_time("start_thread", "app"));
    EXPECT_FALSE(is_run_time("main", "app"));
}

}  // namespace
}  // namespace lagtrap::server::reports::causes_test
