// What a report says about the quality of its recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_report.hpp"

namespace lagtrap::analysis::quality_report_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Loss = std::tuple<std::string, std::uint64_t, std::uint64_t>;

std::vector<Loss> losses_of(const Recording& recording) {
    std::vector<Loss> losses;
    for (const LossCount& loss : report_quality(recording).lost)
        losses.emplace_back(loss.what, loss.count, loss.of);
    return losses;
}

TEST(QualityReport, ListsEachKindOfLoss) {
    Recording recording;
    EXPECT_THAT(losses_of(recording), IsEmpty());
    trace::SessionQuality& counts = recording.system.quality;
    counts.samples_taken = 90;
    counts.samples_lost = 10;
    counts.switches_lost = 2;
    counts.wakings_lost = 3;
    counts.contexts_lost = 13;
    counts.contexts_unreadable = 14;
    counts.stacks_lost = 4;
    counts.stack_copies_left_out = 5;
    counts.runs_lost = 6;
    counts.task_changes_lost = 7;
    counts.code_files_lost = 8;
    recording.unreadable = 9;
    recording.cpus = {{{.at_ns = 1}, {.at_ns = 2}, {.at_ns = 3}}};
    EXPECT_THAT(losses_of(recording),
                ElementsAre(Loss("samples", 10, 100), Loss("context switches", 2, 5),
                            Loss("wakings", 3, 0), Loss("contexts of threads", 13, 0),
                            Loss("unreadable contexts of threads", 14, 0), Loss("stacks", 4, 0),
                            Loss("copies of stacks", 5, 0), Loss("runs", 6, 0),
                            Loss("process changes", 7, 0), Loss("files of run-time code", 8, 0),
                            Loss("unreadable records", 9, 0)));
    // Switches that do not match were lost, too.
    recording.switch_gaps = 12;
    EXPECT_EQ(losses_of(recording)[1], Loss("context switches", 12, 15));
}

TEST(QualityReport, HasTheCostOfTheRecorderAsAShareOfAllCpus) {
    Recording recording;
    recording.end_ns = 1'000;
    recording.cpu_count = 2;
    recording.system.quality.bpf_run_time_ns = 100;
    recording.system.quality.daemon_cpu_ns = 40;
    EXPECT_DOUBLE_EQ(report_quality(recording).own_cost, 0.07);
}

TEST(QualityReport, SharesOfStacksAreOfThoseOfTheirKind) {
    Recording recording;
    trace::StackQuality& stacks = recording.system.stacks;
    EXPECT_EQ(report_quality(recording).on_cpu_complete, std::nullopt);
    stacks.user_stacks = 40;
    stacks.user_stacks_complete = 20;
    stacks.on_cpu.stacks = 10;
    stacks.on_cpu.complete = 9;
    stacks.on_cpu.late = 2;
    stacks.off_cpu.stacks = 30;
    stacks.off_cpu.complete = 15;
    stacks.off_cpu.by_frame_pointers = 5;
    stacks.delayed.stacks = 4;
    stacks.delayed.complete = 1;
    const QualityReport quality = report_quality(recording);
    EXPECT_DOUBLE_EQ(quality.stacks_complete, 0.5);
    EXPECT_DOUBLE_EQ(quality.on_cpu_complete.value(), 0.9);
    EXPECT_DOUBLE_EQ(quality.off_cpu_complete.value(), 0.5);
    EXPECT_DOUBLE_EQ(quality.by_frame_pointers, 0.25);
    EXPECT_DOUBLE_EQ(quality.late, 0.1);
    EXPECT_DOUBLE_EQ(quality.delayed_complete.value(), 0.25);
    EXPECT_EQ(quality.delayed_stacks, 4U);
}

TEST(QualityReport, NamesTheTwentyPlacesWhereMostStacksEnd) {
    Recording recording;
    trace::StackQuality& stacks = recording.system.stacks;
    stacks.user_stacks = 200;
    stacks.frames = 50;
    stacks.frames_named = 40;
    stacks.frames_located = 5;
    stacks.stops.resize(21);
    stacks.stops[0].module = "/usr/bin/app";
    stacks.stops[0].reason = "gap";
    stacks.stops[0].on_cpu = 3;
    stacks.stops[0].off_cpu = 1;
    stacks.other_stops.off_cpu = 2;
    const QualityReport quality = report_quality(recording);
    ASSERT_EQ(quality.stops.size(), 20U);
    EXPECT_EQ(quality.stops[0].module, "/usr/bin/app");
    EXPECT_EQ(quality.stops[0].reason, "gap");
    EXPECT_DOUBLE_EQ(quality.stops[0].share, 0.02);
    EXPECT_DOUBLE_EQ(quality.other_stops, 0.01);
    EXPECT_DOUBLE_EQ(quality.frames_named, 0.8);
    EXPECT_DOUBLE_EQ(quality.frames_located, 0.1);
}

TEST(QualityReport, KnowsWhatIsMissingAsAWhole) {
    Recording recording;
    EXPECT_FALSE(report_quality(recording).partial);
    EXPECT_FALSE(report_quality(recording).truncated_by_size);
    recording.system.partial = true;
    EXPECT_TRUE(report_quality(recording).partial);
    EXPECT_FALSE(report_quality(recording).truncated_by_size);
    recording.system.quality.truncated_by_size = true;
    EXPECT_TRUE(report_quality(recording).truncated_by_size);
}

TEST(QualityReport, ReasonsAreInWords) {
    const std::vector<std::pair<std::string, std::string>> reasons{
        {"unknown", "reason not known"},
        {"too-deep", "too deep"},
        {"bad-address", "unreadable memory"},
        {"no-process", "new process"},
        {"no-mapping", "no mapping"},
        {"no-table", "no unwind table yet"},
        {"out-of-budget", "no memory for its unwind table"},
        {"gap", "no unwind information"},
        {"unsupported", "unsupported unwind information"},
        {"no-progress", "damaged frames"},
        {"32-bit", "32-bit code"},
        {"copy-ended", "longer than its copy"},
        {"lost", "stack lost"},
        {"new-reason", "new-reason"}};
    for (const auto& [reason, words] : reasons) EXPECT_EQ(stop_reason_in_words(reason), words);
}

}  // namespace
}  // namespace lagtrap::analysis::quality_report_test
