#include "daemon/runs/run_gatherer.hpp"

#include <gnu/libc-version.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/events/event_plan.hpp"
#include "daemon/events/marker_places.hpp"
#include "daemon/runs/batch_writer.hpp"

namespace lagtrap::daemon::run_gatherer_test {
namespace {

using namespace std::chrono_literals;

settings::Event event_named(const std::string& name, std::vector<std::string> stages = {}) {
    settings::Event event;
    event.name = name;
    event.threshold = 1ms;
    event.record = settings::RecordMode::Runs;
    for (auto& stage : stages) event.stages.push_back({std::move(stage), {}, false});
    return event;
}

// The runs are those of this process.
class Gatherer : public testing::Test {
  protected:
    void SetUp() override {
        events_ = {event_named("query", {"parse", "cold", "warm", "plan"}), event_named("other")};
        events_[0].stages[3].expected = true;
        gatherer_.use(events_, settings::Runs{}, 0);
    }

    using Record = lagtrap_slot;
    static Record run(std::uint32_t event, std::uint64_t begin_ns, std::uint64_t end_ns) {
        Record record{};
        record.report.header.type = LAGTRAP_REPORT_RUN;
        record.report.header.size_bytes = sizeof(record);
        record.report.process = 7;
        record.report.uid = ::getuid();
        record.report.weight = 1;
        record.run.event = event;
        record.run.begin_ns = record.run.begin_hit_ns = begin_ns;
        record.run.end_ns = end_ns;
        record.run.begin_pid = record.run.begin_tid = record.run.end_tid =
            static_cast<std::uint32_t>(::getpid());
        std::strcpy(record.run.comm, "work\n");
        return record;
    }
    static void hit(Record& record, std::uint16_t stage, std::uint64_t at_ns,
                    std::uint64_t stack = 0) {
        record.report.stage_stacks[record.run.stage_count] = stack;
        record.run.stages[record.run.stage_count++] = {at_ns, 42, stage, 0};
    }
    void take(const Record& record, std::uint64_t ended_after_ns = 0) {
        gatherer_.take(&record.report.header, sizeof(record), ended_after_ns);
    }
    void take_stack(std::uint64_t id, std::vector<std::uint64_t> frames) {
        std::vector<std::uint64_t> memory((sizeof(lagtrap_stack) + frames.size() * 8) / 8);
        auto* stack = reinterpret_cast<lagtrap_stack*>(memory.data());
        stack->header.type = LAGTRAP_RECORD_STACK;
        stack->header.size_bytes = static_cast<std::uint32_t>(memory.size() * 8);
        stack->stack_id = id;
        stack->pid = static_cast<std::uint32_t>(::getpid());
        stack->frame_count = static_cast<std::uint16_t>(frames.size());
        std::memcpy(stack + 1, frames.data(), frames.size() * 8);
        gatherer_.take(&stack->header, memory.size() * 8);
    }

    std::vector<settings::Event> events_;
    RunGatherer gatherer_{{"machine", "boot", "/proc"}};
};

TEST_F(Gatherer, UsesTheThresholdInForce) {
    const auto thresholds = std::make_shared<EventThresholds>(events_);
    gatherer_.use(events_, settings::Runs{}, 0, nullptr, nullptr, thresholds);
    take(run(0, 1'000'000, 3'000'000));
    thresholds->set(0, 5ms);
    take(run(0, 1'000'000, 3'000'000));
    const auto runs = gatherer_.close("").batch.runs;
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].threshold_ns, 1'000'000U);
    EXPECT_TRUE(runs[0].delay);
    EXPECT_EQ(runs[1].threshold_ns, 5'000'000U);
    EXPECT_FALSE(runs[1].delay);
}

TEST_F(Gatherer, SaysWhoseRunItWas) {
    Record record = run(0, 1'000'000, 3'000'000);
    record.report.weight = 5;
    record.run.key = 99;
    take(record);
    const trace::RunBatch batch = gatherer_.close("hint").batch;
    ASSERT_EQ(batch.runs.size(), 1U);
    const trace::RecordedRun& reported = batch.runs[0];
    EXPECT_EQ(reported.event, "query");
    EXPECT_EQ(reported.duration_ns, 2'000'000U);
    EXPECT_EQ(reported.threshold_ns, 1'000'000U);
    EXPECT_TRUE(reported.delay);
    EXPECT_EQ(reported.executable, std::filesystem::read_symlink("/proc/self/exe"));
    EXPECT_EQ(reported.thread, "work\\x0a");
    EXPECT_EQ(reported.process, "daemon_tests");
    EXPECT_FALSE(reported.user.empty());
    EXPECT_EQ(reported.weight, 5U);
    EXPECT_EQ(reported.key, 99U);
    EXPECT_EQ(batch.runs_sampled_away, 4U);
    EXPECT_EQ(batch.host, "machine");
    EXPECT_EQ(batch.session_hint, "hint");
    EXPECT_TRUE(trace::write_run_batch(batch).ok());
}

TEST_F(Gatherer, TellsTheTimesOfARunThatWereCounted) {
    Record record = run(0, 1'000'000, 3'000'000);
    take(record);
    record.times_generation = 5;
    record.parts.on_cpu_ns = 1'500'000;
    record.parts.blocked_ns[LAGTRAP_WAIT_SOCKET] = 100'000;
    record.handed_over_ns = 400'000;
    take(record);
    record.handed_over_ns = 400'001;
    take(record);
    const trace::RunBatch batch = gatherer_.close("").batch;
    ASSERT_EQ(batch.runs.size(), 3U);
    EXPECT_FALSE(batch.runs[0].times);
    ASSERT_TRUE(batch.runs[1].times);
    EXPECT_EQ(batch.runs[1].times->parts.on_cpu_ns, 1'500'000U);
    EXPECT_EQ(batch.runs[1].times->parts.blocked_ns[LAGTRAP_WAIT_SOCKET], 100'000U);
    EXPECT_EQ(batch.runs[1].times->handed_over_ns, 400'000U);
    EXPECT_FALSE(batch.runs[2].times) << "parts that are more than the run are not believed";
}

TEST_F(Gatherer, StagesAreInOrderAndInside) {
    Record record = run(0, 1'000'000, 1'500'000);
    hit(record, 3, 1'300'000);
    hit(record, 0, 1'200'000);  // another thread's, written later
    hit(record, 0, 9'000'000);
    hit(record, 77, 1'250'000);  // not a stage of the event
    take(record);
    const trace::RunBatch batch = gatherer_.close("").batch;
    const auto& stages = batch.runs.at(0).stages;
    ASSERT_EQ(stages.size(), 3U);
    EXPECT_EQ(stages[0].name, "parse");
    EXPECT_EQ(stages[0].at_ns, 200'000U);
    EXPECT_EQ(stages[1].name, "plan");
    EXPECT_EQ(stages[2].at_ns, 500'000U);
    EXPECT_EQ(batch.runs[0].dirty_reasons, 0U);
    EXPECT_TRUE(trace::write_run_batch(batch).ok());
}

TEST_F(Gatherer, MarkersSayTheKindAndExpectedStagesAreMissed) {
    Record record = run(0, 1'000, 2'000);
    hit(record, 1, 1'500);
    take(record);
    hit(record, 2, 1'600);
    hit(record, 3, 1'700);
    take(record);
    const auto runs = gatherer_.close("").batch.runs;
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].start, trace::StartKind::Cold);
    EXPECT_TRUE(runs[0].stages.empty());
    EXPECT_EQ(runs[0].dirty_reasons, trace::DirtyMissingStage);
    EXPECT_EQ(runs[1].start, trace::StartKind::Warm);
    EXPECT_EQ(runs[1].stages.size(), 1U);
    EXPECT_EQ(runs[1].dirty_reasons, 0U);
}

TEST_F(Gatherer, ARunWhoseStagesWereNotWatchedMissesNone) {
    Record record = run(0, 1'000, 2'000);
    record.run.flags |= LAGTRAP_RUN_WITHOUT_STAGES;
    take(record);
    const auto runs = gatherer_.close("").batch.runs;
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_TRUE(runs[0].without_stages);
    EXPECT_EQ(runs[0].dirty_reasons, 0U);
}

TEST_F(Gatherer, StacksArePlacesInFilesAndEachIsTakenOnce) {
    const auto here = reinterpret_cast<std::uint64_t>(&::gnu_get_libc_version);
    take_stack(5, {here, here + 9, 16});
    Record record = run(1, 1'000, 2'000);
    record.report.begin_stack = 5;
    record.report.end_stack = 6;  // was lost
    hit(record, 0, 1'500, 5);
    record.run.event = 0;
    take(record);
    take(record);
    GatheredBatch gathered = gatherer_.close("");
    ASSERT_EQ(gathered.batch.stacks.size(), 1U);
    const trace::RunStack& stack = gathered.batch.stacks[0];
    ASSERT_EQ(stack.size(), 3U);
    EXPECT_THAT(stack[0].module, testing::HasSubstr("libc"));
    EXPECT_FALSE(stack[0].build_id.empty());
    EXPECT_EQ(stack[1].offset, stack[0].offset + 8) << "the call lies before a return address";
    EXPECT_EQ(stack[2].module, "");
    EXPECT_EQ(stack[2].offset, 15U);
    EXPECT_EQ(gathered.batch.runs[0].begin_stack, 1U);
    EXPECT_EQ(gathered.batch.runs[0].end_stack, 0U);
    EXPECT_EQ(gathered.batch.runs[1].stages[0].stack, 1U);
    ASSERT_EQ(gathered.modules.size(), 1U);
    // A new batch contains it again, though it was reported once.
    take(record);
    EXPECT_EQ(gatherer_.close("").batch.stacks.size(), 1U);
}

TEST_F(Gatherer, AnAbortedRunIsDirtyButMissesNoStage) {
    Record record = run(0, 1'000, 2'000);
    gatherer_.take_aborted({record.report, record.run});
    const auto runs = gatherer_.close("").batch.runs;
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_TRUE(runs[0].aborted);
    EXPECT_EQ(runs[0].dirty_reasons, trace::DirtyAborted);
}

TEST_F(Gatherer, ARunThatFailedIsDirtyButMissesNoStage) {
    for (const std::uint32_t meaning : {LAGTRAP_END_FAILED, LAGTRAP_END_CANCELLED}) {
        Record record = run(0, 1'000, 2'000);
        record.report.meaning = meaning;
        take(record);
    }
    const auto runs = gatherer_.close("").batch.runs;
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].dirty_reasons, trace::DirtyFailed);
    EXPECT_EQ(runs[1].dirty_reasons, trace::DirtyCancelled);
    EXPECT_FALSE(runs[0].aborted);
}

TEST_F(Gatherer, LeavesWhatIsAnothersOrNoRecord) {
    Record record = run(0, 1'000, 2'000);
    take(record, 2'001);
    record.run.event = 9;
    take(record);
    record.run.event = 0;
    gatherer_.take(&record.report.header, 8);
    gatherer_.take(&record.report.header, sizeof(record.report) + 20);
    record.report.header.size_bytes = 100'000;
    take(record);
    EXPECT_FALSE(gatherer_.due_ns());
    EXPECT_TRUE(gatherer_.close("").batch.runs.empty());
}

TEST_F(Gatherer, WeightGoesToTheLastRunOfItsEvent) {
    take(run(0, 1'000, 2'000));
    take(run(0, 3'000, 4'000));
    take(run(1, 5'000, 6'000));
    EXPECT_TRUE(gatherer_.add_weight(0, 10));
    EXPECT_FALSE(gatherer_.add_weight(0, UINT32_MAX));
    const auto first = gatherer_.close("").batch;
    EXPECT_EQ(first.runs[1].weight, 11U);
    EXPECT_EQ(first.runs[0].weight + first.runs[2].weight, 2U);
    EXPECT_EQ(first.runs_sampled_away, 10U);
    EXPECT_FALSE(gatherer_.add_weight(0, 1)) << "a new batch has no run yet";
}

TEST_F(Gatherer, RunsOfAnEventThatIsWatchedInPartStandForThoseInBetween) {
    const auto weights = std::make_shared<RunWeights>(events_.size());
    gatherer_.use(events_, settings::Runs{}, 0, nullptr, weights);
    take(run(0, 1'000, 2'000));
    weights->set(0, 3);
    take(run(0, 3'000, 4'000));
    take(run(1, 5'000, 6'000));
    EXPECT_TRUE(gatherer_.add_weight(0, 10));
    const auto batch = gatherer_.close("").batch;
    EXPECT_EQ(batch.runs[0].weight, 1U);
    EXPECT_EQ(batch.runs[1].weight, 33U);
    EXPECT_EQ(batch.runs[2].weight, 1U);
    EXPECT_EQ(batch.runs_sampled_away, 32U);
}

TEST_F(Gatherer, ABatchIsFullBySizeAndDueByAge) {
    EXPECT_FALSE(gatherer_.due_ns());
    take(run(0, 1'000, 2'000));
    const std::uint64_t now_ns = monotonic_ns();
    EXPECT_LE(*gatherer_.due_ns(), now_ns + 10'000'000'000);
    EXPECT_FALSE(gatherer_.full());
    for (int i = 0; i < 5'000; ++i) take(run(0, 1'000, 2'000));
    EXPECT_TRUE(gatherer_.full());
    (void)gatherer_.close("");
    EXPECT_FALSE(gatherer_.full());
}

TEST_F(Gatherer, MarkersWithoutStacksHaveTheirOnlyPlace) {
    const auto function = [](const std::string& name) {
        settings::Marker marker;
        marker.kind = settings::MarkerKind::Function;
        marker.binary = "/proc/self/exe";
        marker.name = "lagtrap::daemon::" + name;
        return marker;
    };
    settings::Event& event = events_[0];
    event.begin = function("sole_place_of");
    event.stages[0].marker = function("walk_to");
    event.end = function("name_of_copy");
    event.stages.resize(1);
    EventPlanner planner([](const std::string& path) { return WatchedFile::open(path); });
    const auto plan = planner.plan(event, {});
    ASSERT_TRUE(plan) << plan.error().message;
    const auto places = std::make_shared<MarkerPlaces>();
    places->note(0, *plan);
    gatherer_.use(events_, settings::Runs{}, 0, places);
    Record record = run(0, 1'000, 2'000);
    hit(record, 0, 1'500);
    take(record);
    take(record);
    const GatheredBatch gathered = gatherer_.close("");
    ASSERT_EQ(gathered.batch.stacks.size(), 3U) << "each place is taken once";
    ASSERT_EQ(gathered.batch.runs.size(), 2U);
    for (const trace::RecordedRun& one : gathered.batch.runs) {
        const auto offset_of = [&](std::uint32_t stack) {
            return gathered.batch.stacks.at(stack - 1).at(0).offset;
        };
        EXPECT_EQ(offset_of(one.begin_stack), places->find(0, LAGTRAP_ROLE_BEGIN, 0)->offset);
        EXPECT_EQ(offset_of(one.stages[0].stack), places->find(0, LAGTRAP_ROLE_STAGE, 0)->offset);
        EXPECT_EQ(offset_of(one.end_stack), places->find(0, LAGTRAP_ROLE_END, 0)->offset);
    }
    EXPECT_EQ(gathered.batch.stacks[0][0].module, "/proc/self/exe");
    EXPECT_EQ(gathered.batch.stacks[0][0].build_id.size(), 40U);
    EXPECT_EQ(gathered.modules.size(), 1U);

    events_[0].stacks = settings::StackMode::Markers;
    gatherer_.use(events_, settings::Runs{}, 0, places);
    take(record);
    EXPECT_TRUE(gatherer_.close("").batch.stacks.empty()) << "it has stacks of its own";
}

TEST_F(Gatherer, ARunAsLongAsItsThresholdIsNoDelay) {
    take(run(0, 1'000, 1'001'000));
    take(run(0, 1'000, 1'001'001));
    take(run(0, 2'000, 1'000));
    const auto runs = gatherer_.close("").batch.runs;
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_FALSE(runs[0].delay);
    EXPECT_TRUE(runs[1].delay);
    EXPECT_EQ(runs[2].duration_ns, 0U) << "it ends before it begins";
}

TEST_F(Gatherer, ARunThatEndsWithTheSourceIsTaken) {
    take(run(0, 1'000, 2'000), 2'000);
    EXPECT_EQ(gatherer_.close("").batch.runs.size(), 1U);
}

TEST_F(Gatherer, ThreadsHaveTheirNumbersAndTheNameThatIsKnown) {
    Record record = run(0, 1'000, 2'000);
    record.run.begin_tid = 0x7ffffffe;
    record.run.end_tid = 12;
    take(record);
    record.run.comm[0] = 0;
    take(record);
    record.run.begin_tid = record.run.begin_pid;
    take(record);
    record.report.weight = 9;
    std::strcpy(record.run.comm, "other");
    gatherer_.take_aborted({record.report, record.run});
    const auto runs = gatherer_.close("").batch.runs;
    ASSERT_EQ(runs.size(), 4U);
    EXPECT_EQ(runs[0].pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(runs[0].begin_tid, 0x7ffffffeU);
    EXPECT_EQ(runs[0].end_tid, 12U);
    EXPECT_EQ(runs[0].thread, "work\\x0a");
    EXPECT_EQ(runs[1].thread, "") << "the thread is gone";
    EXPECT_EQ(runs[2].thread, runs[2].process);
    EXPECT_EQ(runs[3].thread, runs[3].process) << "nobody wrote its name";
    EXPECT_EQ(runs[3].end_tid, runs[3].begin_tid);
    EXPECT_EQ(runs[3].weight, 1U);
}

TEST(BatchWriter, WritesNamesAndCountsWhatItCanNot) {
    const auto root =
        std::filesystem::temp_directory_path() / ("lagtrap-writer-" + std::to_string(::getpid()));
    auto spool = spool::Spool::create(root);
    ASSERT_TRUE(spool.ok()) << spool.error().message;
    GatheredBatch gathered;
    gathered.batch.batch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    for (std::uint32_t i = 0; i < 3; ++i) {
        trace::RecordedRun run;
        run.event = "query";
        run.weight = i + 1;
        gathered.batch.runs.push_back(run);
    }
    std::uint64_t lost = 0;
    std::string warning;
    {
        BatchWriter writer(*spool,
                           Log([&](Log::Level, const std::string& line) { warning = line; }));
        writer.put(gathered);
        writer.wait_until_idle();
        ASSERT_EQ(writer.totals().written, 1U);
        EXPECT_EQ(writer.totals().written_runs, 3U);
        // Immediately, while the writer still uses it.
        std::filesystem::rename(spool->folder(spool::EntryState::Ready), root / "gone");
        writer.put(gathered);
        writer.wait_until_idle();
        EXPECT_EQ(writer.totals().failed, 1U);
        EXPECT_EQ(writer.totals().lost_runs, 6U);
        lost = writer.take_lost();
        EXPECT_EQ(writer.take_lost(), 0U);
    }
    EXPECT_EQ(lost, 6U);
    EXPECT_THAT(warning, testing::HasSubstr("cannot write a batch of runs"));
    std::filesystem::remove_all(root);
}

TEST(BatchWriter, TheNextTellsWhatOneThatWasKilledHadNotWritten) {
    const auto root = std::filesystem::temp_directory_path() /
                      ("lagtrap-unwritten-" + std::to_string(::getpid()));
    const auto spool = spool::Spool::create(root);
    ASSERT_TRUE(spool.ok()) << spool.error().message;
    std::vector<std::string> warnings;
    const Log log([&](Log::Level, const std::string& line) { warnings.push_back(line); });
    GatheredBatch gathered;
    gathered.batch.batch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    gathered.batch.runs.resize(3);
    for (trace::RecordedRun& run : gathered.batch.runs) run.event = "query";
    {
        BatchWriter killed(*spool, log);
        killed.note_gathered(3);
        killed.put(gathered);
        killed.wait_until_idle();
        EXPECT_EQ(killed.totals().written, 1U);
        killed.lose(2);
        killed.note_gathered(7);
        EXPECT_EQ(warnings, std::vector<std::string>());
        BatchWriter next(*spool, log);
        EXPECT_EQ(
            warnings,
            std::vector<std::string>{
                "the previous daemon did not write 9 recorded runs; they are counted as lost"});
        EXPECT_EQ(next.totals().lost_runs, 9U);
        gathered.batch.runs_lost = next.take_lost();
        EXPECT_EQ(gathered.batch.runs_lost, 9U);
        next.put(gathered);
    }
    warnings.clear();
    EXPECT_EQ(BatchWriter(*spool, log).take_lost(), 0U) << "the batch has told them";
    EXPECT_EQ(warnings, std::vector<std::string>());
    std::filesystem::remove_all(root);
}

TEST(BatchWriter, PiecesHaveTheirStacksAndAllRuns) {
    trace::RunBatch batch;
    batch.batch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    batch.runs_lost = 9;
    batch.stacks = {
        {{"a", "", 1, "", "", 0}}, {{"b", "", 2, "", "", 0}}, {{"c", "", 3, "", "", 0}}};
    for (std::uint32_t i = 0; i < 4; ++i) {
        trace::RecordedRun run;
        run.event = "query";
        run.duration_ns = 10;
        run.weight = 2;
        run.end_stack = i % 3 + 1;
        run.stages = {{"s", 1, 1, 3}};
        batch.runs.push_back(run);
    }
    const auto first = piece_of(batch, 0, 1);
    const auto second = piece_of(batch, 1, 4);
    EXPECT_EQ(first.runs_lost + second.runs_lost, 9U);
    EXPECT_EQ(first.runs_sampled_away + second.runs_sampled_away, 4U);
    EXPECT_EQ(first.stacks.size(), 2U);
    EXPECT_EQ(first.stacks.at(first.runs[0].end_stack - 1)[0].module, "a");
    EXPECT_EQ(first.stacks.at(first.runs[0].stages[0].stack - 1)[0].module, "c");
    EXPECT_EQ(second.runs.size(), 3U);
    EXPECT_EQ(second.stacks.at(second.runs[2].end_stack - 1)[0].module, "a");
    EXPECT_NE(first.batch_id, second.batch_id);
    EXPECT_TRUE(trace::write_run_batch(first).ok() && trace::write_run_batch(second).ok());
}

TEST(FrameNames, NamesThisProgramWithItsLines) {
    GatheredBatch gathered;
    trace::ModuleTable modules;
    RunGatherer gatherer({"machine", "boot", "/proc"});
    gatherer.use({event_named("query")}, settings::Runs{}, 0);
    lagtrap_run_report report{};
    report.begin_stack = 3;
    report.uid = ::getuid();
    report.weight = 1;
    lagtrap_run run{};
    run.begin_pid = run.begin_tid = static_cast<std::uint32_t>(::getpid());
    std::vector<std::uint64_t> memory(sizeof(lagtrap_stack) / 8 + 1);
    auto* stack = reinterpret_cast<lagtrap_stack*>(memory.data());
    stack->header.type = LAGTRAP_RECORD_STACK;
    stack->header.size_bytes = static_cast<std::uint32_t>(memory.size() * 8);
    stack->stack_id = 3;
    stack->pid = run.begin_pid;
    stack->frame_count = 1;
    memory.back() = reinterpret_cast<std::uint64_t>(&piece_of);
    gatherer.take(&stack->header, memory.size() * 8);
    gatherer.take_aborted({report, run});
    gathered = gatherer.close("");
    FrameNames names({});
    names.name(gathered);
    ASSERT_EQ(gathered.batch.stacks.size(), 1U);
    const trace::RunFrame& frame = gathered.batch.stacks[0].back();
    EXPECT_THAT(frame.function, testing::HasSubstr("lagtrap::daemon::piece_of"));
    // There are lines if the build has debug information.
    EXPECT_THAT(frame.file, testing::AnyOf("", testing::EndsWith("daemon/runs/batch_writer.cpp")));
}

}  // namespace
}  // namespace lagtrap::daemon::run_gatherer_test
