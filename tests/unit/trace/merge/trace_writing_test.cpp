// The second pass of a merge: which runs are delays, which one started the recording, what is late.
#include "trace/merge/trace_writing.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/merge_fixture.hpp"

namespace lagtrap::trace::trace_writing_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TraceWritingTest : public Merge {
  protected:
    // The system file of a capture with these runs.
    SystemFile merged_runs(const std::vector<lagtrap_run>& runs, const Session& session) {
        const TemporaryDirectory folder;
        SyntheticCapture capture(folder.path(), session);
        for (const lagtrap_run& run : runs) capture.run(run);
        capture.flush();
        const auto summary = merge_capture(folder.path(), options_);
        EXPECT_TRUE(summary.ok()) << summary.error().message;
        summary_ = summary.value();
        return read_system_file(read_file(folder.path() / "system.xml", 1 << 20).value()).value();
    }
    SystemFile merged_runs(const std::vector<lagtrap_run>& runs) {
        return merged_runs(runs, synthetic_session());
    }
    static lagtrap_run with_flags(lagtrap_run run, unsigned flags) {
        run.flags = static_cast<__u8>(flags);
        return run;
    }

    MergeSummary summary_;
};

TEST_F(TraceWritingTest, RunsLongerThanTheirThresholdAreDelays) {
    const auto delays = [&](double length_ms, unsigned flags = 0) {
        const SystemFile file = merged_runs(
            {with_flags(SyntheticCapture::make_run(1, 100, 101, 20, 20 + length_ms), flags)});
        EXPECT_EQ(file.runs.at("disk").delays, file.delays.size());
        EXPECT_EQ(summary_.delays, file.delays.size());
        EXPECT_EQ(summary_.runs, 1U);
        EXPECT_EQ(file.runs.at("request").runs, 0U);
        return file.delays.size();
    };
    EXPECT_EQ(delays(10), 0U) << "as long as the threshold";
    EXPECT_EQ(delays(10.001), 1U);
    EXPECT_EQ(delays(1, LAGTRAP_RUN_DELAY), 1U) << "its threshold was another one then";
    EXPECT_EQ(delays(1, LAGTRAP_RUN_OPEN), 0U);
}

TEST_F(TraceWritingTest, TheFirstDelayIsThatOfTheTrigger) {
    const lagtrap_run run = SyntheticCapture::make_run(1, 100, 101, 20, 40);
    Session session = synthetic_session();
    session.trigger.event = 1;
    session.trigger.pid = 100;
    session.trigger.tid = 101;
    session.trigger.begin_ns = at_ms(20);
    const auto is_first = [&](const Session& of) {
        return merged_runs({run}, of).delays.at(0).first;
    };
    for (const TriggerReason reason : {TriggerReason::Deadline, TriggerReason::End}) {
        session.trigger.reason = reason;
        EXPECT_TRUE(is_first(session));
    }
    Session other = session;
    other.trigger.reason = TriggerReason::Manual;
    EXPECT_FALSE(is_first(other));
    other = session;
    other.trigger.event = 0;
    EXPECT_FALSE(is_first(other));
    other = session;
    ++other.trigger.begin_ns;
    EXPECT_FALSE(is_first(other));
    other = session;
    ++other.trigger.pid;
    EXPECT_FALSE(is_first(other));
    other = session;
    ++other.trigger.tid;
    EXPECT_FALSE(is_first(other));
}

TEST_F(TraceWritingTest, TimeInAQueueIsUntilTheMarker) {
    const auto queued = [&](double hit_ms) {
        lagtrap_run run = SyntheticCapture::make_run(1, 100, 101, 20, 40);
        run.begin_hit_ns = at_ms(hit_ms);
        return merged_runs({run}).delays.at(0).queued_ns;
    };
    EXPECT_EQ(queued(23), 3 * millisecond_ns);
    EXPECT_EQ(queued(20), 0U);
    EXPECT_EQ(queued(19), 0U);
}

TEST_F(TraceWritingTest, RunsAreNumberedInTheOrderOfTheirBegins) {
    const SystemFile file = merged_runs({SyntheticCapture::make_run(1, 100, 101, 60, 80),
                                         SyntheticCapture::make_run(1, 100, 101, 20, 21),
                                         SyntheticCapture::make_run(1, 100, 101, 30, 50)});
    ASSERT_EQ(file.delays.size(), 2U);
    EXPECT_EQ(file.delays[0].run_id, 2U);
    EXPECT_EQ(file.delays[1].run_id, 3U);
    EXPECT_EQ(file.runs.at("disk").runs, 3U);
}

TEST_F(TraceWritingTest, ARunDoesNotEndBeforeItsBegin) {
    const SystemFile file = merged_runs(
        {with_flags(SyntheticCapture::make_run(1, 100, 101, 50, 40), LAGTRAP_RUN_DELAY)});
    EXPECT_EQ(file.delays.at(0).duration_ns, 0U);
}

TEST_F(TraceWritingTest, RunsOfUnknownEventsAreLost) {
    Session session = synthetic_session();
    session.quality.runs_lost = 5;
    const SystemFile file = merged_runs({SyntheticCapture::make_run(2, 100, 101, 50, 60),
                                         SyntheticCapture::make_run(1, 100, 101, 50, 60)},
                                        session);
    EXPECT_EQ(file.quality.runs_lost, 6U);
    EXPECT_EQ(summary_.runs, 1U);
}

TEST_F(TraceWritingTest, EachKindOfLateRecordIsCounted) {
    Session session = synthetic_session();
    session.quality.samples_lost = 10;
    session.quality.switches_lost = 20;
    session.quality.wakings_lost = 30;
    {
        SyntheticCapture capture(capture_.path(), session);
        for (int i = 0; i < 40; ++i) capture.sample(10 + i, 0, 100, 100, 0, 0);
        capture.sample(1, 0, 100, 100, 0, 0);
        capture.switched(2, 0, 100, 100, 0, 0, 0);
        capture.switched(2, 0, 0, 0, 0, 100, 100);
        for (int i = 0; i < 3; ++i) capture.waking(3, 0, 100, 200, 200);
        capture.flush();
    }
    options_.reorder_window_records = 16;
    const auto merged = merge();
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(merged->late_records, 6U);
    EXPECT_EQ(merged->samples, 40U);
    EXPECT_EQ(merged->switches, 0U);
    const SessionQuality quality = system().quality;
    EXPECT_EQ(quality.samples_lost, 11U);
    EXPECT_EQ(quality.switches_lost, 22U);
    EXPECT_EQ(quality.wakings_lost, 33U);
}

TEST_F(TraceWritingTest, SwitchesThatAreKnownToBeLostAreNotCountedTwice) {
    const auto lost = [&](std::uint64_t counted) {
        const TemporaryDirectory folder;
        Session session = synthetic_session();
        session.quality.switches_lost = counted;
        SyntheticCapture capture(folder.path(), session);
        for (int i = 0; i < 6; i += 2) {
            capture.switched(2 + i, 0, 100, 100, 1, 101, 101);
            capture.switched(3 + i, 0, 102, 102, 1, 103, 103);
        }
        capture.flush();
        EXPECT_TRUE(merge_capture(folder.path(), options_).ok());
        return read_system_file(read_file(folder.path() / "system.xml", 1 << 20).value())
            ->quality.switches_lost;
    };
    EXPECT_EQ(lost(0), 5U);
    EXPECT_EQ(lost(4), 5U);
    EXPECT_EQ(lost(9), 9U);
}

TEST_F(TraceWritingTest, SamplesOfACaptureCutShortAreCountedHere) {
    const auto taken = [&](bool finished) {
        const TemporaryDirectory folder;
        Session session = synthetic_session();
        session.finished = finished;
        SyntheticCapture capture(folder.path(), session);
        capture.sample(5, 0, 100, 100, 0, 0);
        capture.flush();
        EXPECT_TRUE(merge_capture(folder.path(), options_).ok());
        return read_system_file(read_file(folder.path() / "system.xml", 1 << 20).value())
            ->quality.samples_taken;
    };
    EXPECT_EQ(taken(true), 9U) << "as the daemon counted them";
    EXPECT_EQ(taken(false), 1U);
}

// Its packets begin with the earliest record, not with the recording.
TEST_F(TraceWritingTest, TheTraceBeginsWithTheEarliestRecord) {
    const auto began = [&](double run_ms, double sample_ms) {
        const TemporaryDirectory folder;
        SyntheticCapture capture(folder.path(), synthetic_session());
        capture.run(SyntheticCapture::make_run(1, 100, 101, run_ms, 60));
        capture.sample(sample_ms, 0, 100, 100, 0, 0);
        capture.flush();
        EXPECT_TRUE(merge_capture(folder.path(), options_).ok());
        const Output printed =
            output_of(test_python() + " " + test_data_folder() + "/trace/print_packets.py '" +
                      (folder.path() / "trace.pftrace").string() + "'");
        return std::stoull(printed.text.substr(2)) - slept_ns;
    };
    EXPECT_EQ(began(-30, 20), at_ms(-30));
    EXPECT_EQ(began(10, -20), at_ms(-20));
    EXPECT_EQ(began(10, 20), at_ms(0));
}

TEST_F(TraceWritingTest, SleepersAreWrittenOnceTheRecordingBegan) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "sleeper", 1, 0, 5);
        capture.user_stack(1, 5, 100, {0x1000});
        capture.run(SyntheticCapture::make_run(1, 100, 101, -30, 60));
        capture.sample(20, 0, 200, 200, 0, 0);
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const Output printed = output_of(test_python() + " " + test_data_folder() +
                                     "/trace/print_packets.py '" + trace().string() + "'");
    EXPECT_THAT(printed.text,
                testing::HasSubstr("\n4 " + std::to_string(at_ms(0) + slept_ns) + " "));
    EXPECT_EQ(system().stacks.off_cpu.stacks, 1U);
}

}  // namespace
}  // namespace lagtrap::trace::trace_writing_test
