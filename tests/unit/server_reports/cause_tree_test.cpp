#include "server/reports/cause_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/reports/cause_names.hpp"

namespace lagtrap::server::reports::cause_tree_test {
namespace {

using analysis::ProfileLink;
using analysis::TimeKind;
using testing::ElementsAre;

// Texts of a profile.
constexpr std::uint32_t disk = 1, handed_over = 2, lost = 3, worker = 4, lock = 5, helper = 6;
// Nodes of a profile: main, parse and memcpy of the C library call each other, and the kernel works
// for parse, or alone. The last is a regular expression that fills its stack.
constexpr std::uint32_t in_main = 1, in_parse = 2, in_memcpy = 3, in_kernel = 4,
                        in_kernel_thread = 5, in_regex = 6;

struct ProfileMaker {
    ProfileMaker() {
        profile.frames = {
            {"main", "/usr/bin/app", false},
            {"parse.constprop.0", "/usr/bin/app", false},
            {"memcpy", "/usr/lib/libc.so.6", false},
            {"balance_things", "[kernel]", true},
            {"std::__detail::_Executor<char, false>::_M_dfs(int)", "/usr/bin/app", false}};
        profile.nodes = {{}, {0, 0}, {in_main, 1}, {in_parse, 2}, {in_parse, 3}, {0, 3}, {0, 4}};
        profile.texts = {"",     "disk",  "between its markers", "before the recording", "worker",
                         "lock", "helper"};
    }
    ProfileMaker& add(std::uint64_t time_ns, std::vector<ProfileLink> links) {
        profile.entries.push_back({time_ns, std::move(links)});
        profile.duration_ns += time_ns;
        return *this;
    }
    analysis::RunProfile profile;
};

ProfileLink on_cpu(std::uint32_t node, std::uint32_t thread = 0) {
    return {TimeKind::OnCpu, 0, thread, node};
}
ProfileLink blocked(std::uint32_t node, std::uint32_t reason, std::uint32_t thread = 0) {
    return {TimeKind::Blocked, reason, thread, node};
}
ProfileLink runnable(std::uint32_t node) { return {TimeKind::Runnable, 0, 0, node}; }
ProfileLink unknown(std::uint32_t reason) { return {TimeKind::Unknown, reason, 0, 0}; }

std::string path_of(const CauseTree& tree, std::uint32_t node) {
    if (node == 0) return {};
    const std::string before = path_of(tree, tree.nodes()[node].parent);
    return before + (before.empty() ? "" : ">") +
           tree.names()[tree.nodes()[node].name].frame.function;
}

std::uint32_t node_of(const CauseTree& tree, const std::string& path) {
    for (std::uint32_t node = 0; node < tree.nodes().size(); ++node)
        if (path_of(tree, node) == path) return node;
    ADD_FAILURE() << "there is no " << path;
    return 0;
}

// "path time" of each entry of a run.
std::vector<std::string> times_of(const CauseTree& tree, std::size_t run = 0) {
    std::vector<std::string> times;
    const TreeRun& of = tree.runs().at(run);
    for (std::size_t i = of.entries_begin; i < of.entries_end; ++i)
        times.push_back(path_of(tree, tree.entries()[i].node) + " " +
                        std::to_string(tree.entries()[i].time_ns));
    std::sort(times.begin(), times.end());
    return times;
}

ProfiledRun delayed_run() {
    ProfiledRun run;
    run.delayed = true;
    run.host = "alpha";
    run.bundle = "digest";
    run.delay = 7;
    return run;
}

TEST(CauseTree, PathsEndWithTheState) {
    CauseTree tree(1000, 1000);
    ProfileMaker maker;
    maker.add(1, {on_cpu(in_memcpy)}).add(2, {on_cpu(in_kernel)}).add(4, {on_cpu(in_main)});
    maker.add(8, {on_cpu(in_kernel_thread)}).add(16, {runnable(in_parse)});
    maker.add(32, {blocked(in_parse, disk)}).add(64, {unknown(handed_over)});
    maker.add(128, {on_cpu(in_regex)});
    tree.add(delayed_run(), maker.profile);
    EXPECT_THAT(times_of(tree),
                ElementsAre("[not recorded] 64", "[waits for a CPU] 16",
                            "balance_things>[on CPU] 8", "main>[on CPU] 4", "main>parse>[disk] 32",
                            "main>parse>[on CPU] 3", "std::__detail::_Executor>[on CPU] 128"));
    const TreeRun& run = tree.runs()[0];
    EXPECT_EQ(run.recorded_ns, 255U);
    EXPECT_FALSE(run.cut);
    EXPECT_TRUE(run.delayed);
    EXPECT_EQ(tree.texts()[run.host], "alpha");
    EXPECT_EQ(tree.texts()[run.bundle], "digest");
    EXPECT_EQ(run.user, 0U);
    EXPECT_EQ(run.delay, 7U);
    const auto name = [&](const char* path) {
        return tree.names()[tree.nodes()[node_of(tree, path)].name];
    };
    EXPECT_TRUE(name("balance_things").of_kernel);
    EXPECT_FALSE(name("main>parse").of_kernel);
    EXPECT_EQ(name("main>parse").frame.module, "app");
    EXPECT_EQ(name("main>parse>[disk]").kind, NameKind::Blocked);
    EXPECT_EQ(name("[not recorded]").kind, NameKind::Unknown);
}

TEST(CauseTree, TimeThatWasNotRecordedIsNoBehaviour) {
    CauseTree tree(1000, 1000);
    ProfileMaker part, nothing;
    part.add(5, {on_cpu(in_main)}).add(7, {unknown(lost)});
    nothing.add(7, {unknown(lost)});
    tree.add(delayed_run(), part.profile);
    tree.add(delayed_run(), nothing.profile);
    ASSERT_EQ(tree.runs().size(), 1U);
    EXPECT_EQ(tree.runs_left_out(), 0U);
    EXPECT_EQ(tree.runs()[0].recorded_ns, 5U);
    EXPECT_TRUE(tree.runs()[0].cut);
    EXPECT_THAT(times_of(tree), ElementsAre("main>[on CPU] 5"));
}

TEST(CauseTree, BelowAWaitIsTheOtherThread) {
    ProfileMaker maker;
    maker.add(20, {blocked(in_parse, lock), on_cpu(in_main, worker)});
    maker.add(4, {blocked(in_parse, lock), on_cpu(in_main, helper)});
    maker.add(5, {blocked(in_parse, lock), runnable(in_parse)});
    CauseTree tree(1000, 1000), of_normal(1000, 1000);
    tree.add(delayed_run(), maker.profile);
    of_normal.add({}, maker.profile);
    EXPECT_THAT(times_of(tree), ElementsAre("main>parse>[lock]>main>[on CPU] 24",
                                            "main>parse>[lock]>main>parse>[waits for a CPU] 5"));
    EXPECT_EQ(times_of(of_normal), times_of(tree));
    const std::uint32_t end = node_of(tree, "main>parse>[lock]>main>[on CPU]");
    for (const TreeEntry& entry : tree.entries())
        EXPECT_EQ(tree.texts()[entry.awaited], entry.node == end ? "worker" : "");
    for (const TreeEntry& entry : of_normal.entries()) EXPECT_EQ(entry.awaited, 0U);
    EXPECT_EQ(tree.waits().awaited_thread(node_of(tree, "main>parse>[lock]")), "worker");
    EXPECT_EQ(of_normal.waits().awaited_thread(node_of(of_normal, "main>parse>[lock]")), "");
}

TEST(CauseTree, WhatIsMissingOfAWaitIsLikeTheRestOfIt) {
    ProfileMaker maker;
    maker.add(40, {blocked(in_parse, lock), on_cpu(in_main, worker)});
    maker.add(30, {blocked(in_parse, lock), unknown(lost)});
    maker.add(20, {blocked(in_parse, lock), on_cpu(in_parse, worker)});
    maker.add(10, {blocked(in_main, lock), on_cpu(in_parse, worker)});
    CauseTree tree(1000, 1000);
    tree.add(delayed_run(), maker.profile);
    EXPECT_THAT(times_of(tree), ElementsAre("main>[lock]>main>parse>[on CPU] 10",
                                            "main>parse>[lock]>main>[on CPU] 60",
                                            "main>parse>[lock]>main>parse>[on CPU] 30"));
    // Not if more is missing than is known.
    for (const auto& [missing_ns, stays] : {std::pair(60U, false), std::pair(61U, true)}) {
        maker.profile.entries[1].time_ns = missing_ns;
        CauseTree other(1000, 1000);
        other.add(delayed_run(), maker.profile);
        EXPECT_EQ(other.runs()[0].recorded_ns, 70U + missing_ns);
        std::uint64_t unknown_ns = 0;
        for (const TreeEntry& entry : other.entries())
            if (path_of(other, entry.node) == "main>parse>[lock]>[not recorded]")
                unknown_ns += entry.time_ns;
        EXPECT_EQ(unknown_ns, stays ? missing_ns : 0U);
    }
}

TEST(CauseTree, LimitsLeaveOutRunsAndCutPaths) {
    ProfileMaker two, one;
    two.add(1, {on_cpu(in_main)}).add(2, {on_cpu(in_parse)});
    one.add(1, {on_cpu(in_main)});
    CauseTree tree(1000, 3);
    tree.add(delayed_run(), two.profile);
    tree.add(delayed_run(), two.profile);
    EXPECT_EQ(tree.runs_left_out(), 1U);
    tree.add(delayed_run(), one.profile);
    EXPECT_EQ(tree.runs_left_out(), 1U);
    EXPECT_EQ(tree.runs().size(), 2U);
    CauseTree of_long(1000, 1000);
    one.profile.duration_ns = 1ULL << 60;
    of_long.add(delayed_run(), one.profile);
    EXPECT_EQ(of_long.runs_left_out(), 0U);
    one.profile.duration_ns = (1ULL << 60) + 1;
    of_long.add(delayed_run(), one.profile);
    EXPECT_EQ(of_long.runs_left_out(), 1U);
    // Room for the root, main and main's state.
    CauseTree narrow(3, 1000);
    narrow.add(delayed_run(), two.profile);
    EXPECT_THAT(times_of(narrow), ElementsAre("main>[on CPU] 3"));
    EXPECT_EQ(narrow.paths_cut(), 1U);
    EXPECT_EQ(narrow.nodes().size(), 3U);
}

class CauseNames : public testing::Test {
  protected:
    CauseNames() {
        ProfileMaker maker;
        maker.add(20, {blocked(in_parse, lock), on_cpu(in_main, worker)});
        maker.add(10, {on_cpu(in_parse)}).add(5, {runnable(in_main)});
        tree.add(delayed_run(), maker.profile);
    }
    std::uint32_t node(const char* path) const { return node_of(tree, path); }
    CauseTree tree{1000, 1000};
};

TEST_F(CauseNames, TheFirstStateOnAPathIsTheOwnThreads) {
    const auto waits = first_waits(tree);
    EXPECT_EQ(waits[0], 0U);
    EXPECT_EQ(waits[node("main>parse")], 0U);
    const std::uint32_t wait = node("main>parse>[lock]");
    EXPECT_EQ(waits[wait], wait);
    EXPECT_EQ(waits[node("main>parse>[lock]>main>[on CPU]")], wait);
    EXPECT_EQ(waits[node("main>parse>[on CPU]")], node("main>parse>[on CPU]"));
}

TEST_F(CauseNames, TheLargestStateIsTheLargestNodeOfTheLargestName) {
    const std::uint32_t own = node("main>parse>[on CPU]"),
                        other = node("main>parse>[lock]>main>[on CPU]"),
                        wait = node("main>parse>[lock]");
    const std::uint32_t on_cpu_name = tree.nodes()[own].name, wait_name = tree.nodes()[wait].name;
    ASSERT_EQ(on_cpu_name, tree.nodes()[other].name);
    EXPECT_EQ(largest_state(tree, {}, {{own, 5}}), 0U);
    const std::map<std::uint32_t, double> by_node{{own, 3}, {other, 4}, {wait, 6}};
    EXPECT_EQ(largest_state(tree, {{on_cpu_name, 7}, {wait_name, 6}}, by_node), other);
    EXPECT_EQ(largest_state(tree, {{on_cpu_name, 5}, {wait_name, 6}}, by_node), wait);
}

std::vector<std::string> functions_of(const Cause& cause) {
    std::vector<std::string> functions;
    for (const CauseFrame& frame : cause.frames) functions.push_back(frame.function);
    return functions;
}

TEST_F(CauseNames, AFunctionOfAnotherThreadIsAwaited) {
    Cause cause;
    Suspect suspect;
    suspect.node = node("main>parse>[lock]>main>[on CPU]");
    const CauseParts parts = describe(tree, suspect, node("main>parse>[lock]"), cause);
    EXPECT_THAT(functions_of(cause), ElementsAre("main", "[lock]", "parse", "main"));
    EXPECT_EQ(cause.state, TimeKind::Blocked);
    EXPECT_EQ(cause.reason, "lock");
    EXPECT_EQ(parts.function.function, "main");
    EXPECT_EQ(parts.function.module, "app");
    EXPECT_TRUE(parts.awaited);
    EXPECT_FALSE(parts.of_kernel);
    EXPECT_EQ(parts.thread, "worker");
    EXPECT_EQ(parts.last_thread, "");
    EXPECT_EQ(parts.waiter.function, "parse");
    // The own thread's function in the same wait is another cause.
    Cause own;
    suspect.node = node("main>parse>[lock]");
    const CauseParts own_parts = describe(tree, suspect, suspect.node, own);
    EXPECT_FALSE(own_parts.awaited);
    EXPECT_EQ(own_parts.function.function, "parse");
    EXPECT_EQ(own_parts.waiter.function, "");
    EXPECT_EQ(own.signature.size(), 16U);
    EXPECT_NE(own.signature, cause.signature);
}

TEST_F(CauseNames, OtherStatesHaveNoReason) {
    Cause computes, waits;
    Suspect suspect;
    suspect.node = node("main>parse>[on CPU]");
    const CauseParts parts = describe(tree, suspect, suspect.node, computes);
    EXPECT_EQ(computes.state, TimeKind::OnCpu);
    EXPECT_EQ(computes.reason, "");
    EXPECT_THAT(functions_of(computes), ElementsAre("parse", "main"));
    EXPECT_EQ(parts.state, TimeKind::OnCpu);
    suspect.node = node("[waits for a CPU]");
    (void)describe(tree, suspect, suspect.node, waits);
    EXPECT_EQ(waits.state, TimeKind::Runnable);
    EXPECT_THAT(functions_of(waits), ElementsAre("[waits for a CPU]"));
    EXPECT_NE(waits.signature, computes.signature);
}

}  // namespace
}  // namespace lagtrap::server::reports::cause_tree_test
