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
    counts.stacks_lost = 4;
    counts.stack_copies_left_out = 5;
    counts.runs_lost = 6;
    counts.task_changes_lost = 7;
    counts.code_files_lost = 8;
    recording.unreadable = 9;
    recording.cpus = {{{.at_ns = 1}, {.at_ns = 2}, {.at_ns = 3}}};
    EXPECT_THAT(
        losses_of(recording),
        ElementsAre(Loss("samples", 10, 100), Loss("context switches", 2, 5), Loss("wakings", 3, 0),
                    Loss("stacks", 4, 0), Loss("copies of stacks", 5, 0), Loss("runs", 6, 0),
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

TEST(QualityReport, ReasonsAreInWords) {
    EXPECT_EQ(stop_reason_in_words("no-table"), "no unwind table yet");
    EXPECT_EQ(stop_reason_in_words("copy-ended"), "longer than its copy");
    EXPECT_EQ(stop_reason_in_words("new-reason"), "new-reason");
}

}  // namespace
}  // namespace lagtrap::analysis::quality_report_test
