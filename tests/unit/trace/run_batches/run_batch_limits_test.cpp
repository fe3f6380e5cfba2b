#include "trace/run_batches/run_batch_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::trace::run_batch_limits_test {
namespace {

RecordedRun good_run() {
    RecordedRun run;
    run.event = "query";
    run.duration_ns = 100;
    run.begin_stack = 1;
    run.end_stack = 2;
    run.stages = {{"a", 0, 1, 0}, {"b", 50, 1, 3}, {"c", 50, 1, 0}, {"d", 100, 1, 0}};
    run.dirty_reasons = 63;
    RunTimes& times = run.times.emplace();
    times.parts.on_cpu_ns = 60;
    times.parts.runnable_ns = 20;
    times.parts.throttled_ns = 20;
    times.handed_over_ns = 20;
    return run;
}

// Empty if there is none.
std::string problem(const Status& status, ErrorKind kind = ErrorKind::Invalid) {
    if (status) return "";
    EXPECT_EQ(status.error().kind, kind);
    return status.error().message;
}

std::string problem_of(const RecordedRun& run, std::size_t stacks = 3) {
    return problem(check_recorded_run(run, stacks));
}

TEST(RunBatchLimits, CountsAreAllowedUpToTheLimit) {
    EXPECT_EQ(problem(check_count("runs", 3, 3)), "");
    EXPECT_EQ(problem(check_count("runs", 4, 3), ErrorKind::TooLarge),
              "a batch of runs with 4 runs; at most 3 are allowed");
}

TEST(RunBatchLimits, ARunHasAnEventAWeightAndAPossibleDuration) {
    EXPECT_EQ(problem_of(good_run()), "");
    RecordedRun run = good_run();
    run.event.clear();
    EXPECT_EQ(problem_of(run), "a run without the name of its event");
    run = good_run();
    run.weight = 0;
    EXPECT_EQ(problem_of(run), "a run of weight 0; at least 1 is allowed");
    run = good_run();
    run.duration_ns = run_batch_duration_limit_ns;
    EXPECT_EQ(run.duration_ns, 34'560'000'000'000'000U);
    EXPECT_EQ(problem_of(run), "");
    ++run.duration_ns;
    EXPECT_EQ(problem_of(run), "a run longer than 400 days");
    run = good_run();
    run.dirty_reasons = 65;
    EXPECT_EQ(problem_of(run), "unknown reasons against a run: bits 65");
}

TEST(RunBatchLimits, ThePartsOfARunsTimeFitIntoItsDuration) {
    const std::string refused = "the parts of a run's time add up to more than its 100 ns";
    RecordedRun run = good_run();
    run.times->handed_over_ns = 21;
    EXPECT_EQ(problem_of(run), refused);
    run = good_run();
    run.times->handed_over_ns = 0;
    run.times->parts.on_cpu_ns = 80;
    EXPECT_EQ(problem_of(run), "");
    run.times->parts.on_cpu_ns = 81;
    EXPECT_EQ(problem_of(run), refused);
    run = good_run();
    run.times->parts.throttled_ns = 21;
    EXPECT_EQ(problem_of(run), refused);
    run.times.reset();
    EXPECT_EQ(problem_of(run), "");
}

TEST(RunBatchLimits, StagesAreInOrderAndInsideTheRun) {
    RecordedRun run = good_run();
    run.stages[1].at_ns = 51;
    EXPECT_EQ(problem_of(run), "a stage at 50 ns of a run of 100 ns: not in order, or not inside");
    run = good_run();
    run.stages[3].at_ns = 101;
    EXPECT_EQ(problem_of(run), "a stage at 101 ns of a run of 100 ns: not in order, or not inside");
}

TEST(RunBatchLimits, ARunNamesStacksThatExist) {
    EXPECT_EQ(problem_of(good_run(), 2), "a run names stack 3 of 2");
    RecordedRun run = good_run();
    run.stages.clear();
    EXPECT_EQ(problem_of(run, 2), "");
    EXPECT_EQ(problem_of(run, 1), "a run names stack 2 of 1");
    run.begin_stack = 4;
    EXPECT_EQ(problem_of(run, 3), "a run names stack 4 of 3");
}

TEST(RunBatchLimits, APartAboutObjectsHasAnIdANumberAndLinesOfJson) {
    ObjectsPart part;
    part.watch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    part.number = 1;
    const auto problem_with = [&](const std::string& lines) {
        part.lines = lines;
        return problem(check_objects_part(part));
    };
    EXPECT_EQ(problem_with(""), "");
    EXPECT_EQ(problem_with("{}\n{\"a\":1}\n"), "");
    EXPECT_EQ(problem_with("{}\n{}"), "the last line about objects has no end");
    EXPECT_EQ(problem_with("{}\n\n"), "a line about objects is no object of JSON");
    EXPECT_EQ(problem_with("{}\n[{}\n"), "a line about objects is no object of JSON");
    EXPECT_EQ(problem_with("{}\n{}]\n"), "a line about objects is no object of JSON");
    EXPECT_EQ(problem_with("{\x01}\n"), "a line about objects is not printable");
    part.number = 0;
    EXPECT_EQ(problem_with(""), "part 0 of what was told of objects; they count from 1");
    part.watch_id = "x\x01";
    EXPECT_EQ(problem_with(""), "the id of a watch \"x\\x01\" is no UUID");
}

TEST(RunBatchLimits, APartAboutObjectsHasALimit) {
    ObjectsPart part;
    part.watch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    part.number = 1;
    part.lines.assign(objects_part_limit_bytes + 1, ' ');
    EXPECT_EQ(problem(check_objects_part(part), ErrorKind::TooLarge),
              "a batch of runs with 8388609 bytes of lines; at most 8388608 are allowed");
}

}  // namespace
}  // namespace lagtrap::trace::run_batch_limits_test
