#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_report.hpp"
#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"
#include "analysis/trace_places.hpp"
#include "tests/unit/analysis/made_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::analysis::recording_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

TraceBuilder small_recording() {
    TraceBuilder builder(100 * ms);
    builder.process(10, "/usr/bin/app --fast").thread(10, 10, "app").thread(10, 11, "helper");
    builder.off_cpu(0, 10, 11, {"helper_main", "k:do_futex"});
    builder.switched(10 * ms, 0, 10, 1, 11)
        .off_cpu(10 * ms, 10, 10, {"main", "wait_here", "k:ep_poll"});
    builder.waking(20 * ms, 0, 11, 10).switched(21 * ms, 0, 11, 0, 10);
    builder.samples(2 * ms, 8 * ms, 0, 10, 10, {"main", "work", "?:/lib/libz.so.1"});
    auto delay = TraceBuilder::delay(7, "query", static_cast<std::int64_t>(5 * ms), 30 * ms,
                                     10 * ms, 10, 10);
    delay.stages = {{"parse", 1 * ms, 10}, {"execute", 4 * ms, 10}};
    builder.run(delay);
    builder.run(TraceBuilder::delay(8, "query", static_cast<std::int64_t>(50 * ms), 1 * ms, 10 * ms,
                                    10, 10),
                false);
    return builder;
}

TEST(Recording, holds_what_the_trace_says) {
    const auto recording = small_recording().decode();
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(recording->begin_ns, begin);
    EXPECT_EQ(recording->end_ns, begin + 100 * ms);
    EXPECT_EQ(recording->unreadable, 0);
    EXPECT_TRUE(recording->has_scheduling);
    ASSERT_EQ(recording->threads.size(), 2);
    EXPECT_EQ(recording->process_name(10), "app");
    EXPECT_EQ(recording->thread_name(11), "helper");
    EXPECT_EQ(recording->processes.at(10).command_line, "/usr/bin/app --fast");
    EXPECT_EQ(recording->processes.at(10).uid, 1000);

    const Thread& thread = *recording->find_thread(10);
    ASSERT_EQ(thread.samples.size(), 6);
    const auto stack = recording->stacks[thread.samples[0].stack];
    ASSERT_EQ(stack.size(), 3);
    EXPECT_EQ(recording->name(recording->frames[stack[1]].label), "work");
    EXPECT_EQ(recording->name(recording->frames[stack[2]].label), "[libz.so.1]");
    EXPECT_FALSE(recording->frames[stack[2]].named);
    EXPECT_EQ(recording->name(recording->frames[stack[2]].module), "/lib/libz.so.1");
}

TEST(Recording, a_main_thread_without_a_name_has_that_of_its_process) {
    test::MadeRecording made;
    made.thread(10, 10);
    made.thread(10, 11);
    made.thread(20, 20, "renamed");
    for (const std::uint32_t pid : {10, 20}) {
        made.process(pid, 1);
        made.recording.processes[pid].name = made.name("app");
    }
    EXPECT_EQ(made.recording.thread_name(10), "app");
    EXPECT_EQ(made.recording.thread_name(11), "");
    EXPECT_EQ(made.recording.thread_name(20), "renamed");
}

TEST(Recording, holds_runs_and_stages) {
    const auto recording = small_recording().decode();
    ASSERT_TRUE(recording);
    ASSERT_EQ(recording->runs.size(), 2);
    const analysis::Run& run = *recording->find_run(7);
    EXPECT_EQ(run.event, "query");
    EXPECT_TRUE(run.delay);
    EXPECT_EQ(run.begin_ns, begin + 5 * ms);
    EXPECT_EQ(run.end_ns, begin + 35 * ms);
    EXPECT_EQ(run.threshold_ns, 10 * ms);
    ASSERT_EQ(run.stages.size(), 2);
    EXPECT_EQ(run.stages[0].name, "parse");
    EXPECT_EQ(run.stages[0].end_ns, begin + 9 * ms);
    EXPECT_EQ(run.stages[1].end_ns, begin + 35 * ms);
    EXPECT_FALSE(recording->find_run(8)->delay);
    EXPECT_EQ(recording->find_run(9), nullptr);
}

TEST(Recording, works_out_states_of_threads) {
    const auto recording = small_recording().decode();
    ASSERT_TRUE(recording);
    const auto& app = recording->find_thread(10)->changes;
    ASSERT_EQ(app.size(), 4);
    EXPECT_EQ(app[0].state, ThreadState::Running);
    EXPECT_EQ(app[0].at_ns, begin);
    EXPECT_EQ(app[1].state, ThreadState::Blocked);
    EXPECT_EQ(recording->stacks[app[1].stack].size(), 3);
    EXPECT_EQ(app[2].state, ThreadState::Runnable);
    EXPECT_TRUE(app[2].woken);
    EXPECT_EQ(app[2].waker_tid, 11);
    EXPECT_EQ(app[3].state, ThreadState::Running);

    const auto& helper = recording->find_thread(11)->changes;
    ASSERT_EQ(helper.size(), 3);
    EXPECT_EQ(helper[0].state, ThreadState::Blocked);  // asleep when the recording began
    EXPECT_NE(helper[0].stack, 0);
    EXPECT_EQ(helper[2].state, ThreadState::Runnable);
    EXPECT_FALSE(helper[2].woken);
}

TEST(Recording, lost_switches_leave_unknown_time) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "app").thread(10, 11, "other");
    builder.switched(10 * ms, 0, 0, 0, 10);
    // The records of 10 stopping and 11 starting are missing: 11 stops on the CPU where 10 ran.
    builder.switched(30 * ms, 0, 11, 1, 0).switched(50 * ms, 0, 0, 0, 10);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto& changes = recording->find_thread(10)->changes;
    ASSERT_EQ(changes.size(), 3);
    EXPECT_EQ(changes[1].at_ns, begin + 10 * ms);
    EXPECT_EQ(changes[1].state, ThreadState::NotRecorded);
    EXPECT_EQ(changes[2].state, ThreadState::Running);
    EXPECT_EQ(recording->find_thread(11)->changes[0].state, ThreadState::NotRecorded);
}

// 10 is preempted at 10 ms. The switch back, between 20 and 30 ms, is missing.
TEST(Recording, unknown_time_is_no_longer_than_need_be) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "app").thread(10, 11, "other");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(10 * ms, 0, 10, 0, 11)
        .switched(20 * ms, 0, 11, 1, 12);
    builder.switched(30 * ms, 0, 10, 1, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->switch_gaps, 1);
    ASSERT_EQ(report_quality(*recording).lost.size(), 1);
    EXPECT_EQ(report_quality(*recording).lost[0].what, "context switches");
    const auto intervals = intervals_of_thread(*recording, 10, {begin + ms, begin + 30 * ms});
    const TimeSplit split = split_time(*recording, intervals);
    EXPECT_EQ(split.on_cpu_ns, 9 * ms);
    EXPECT_EQ(split.runnable_ns, 10 * ms);
    EXPECT_EQ(split.not_recorded_ns, 10 * ms);
}

// 10 is preempted at 10 ms. Its return after 11 was inferred from the kernel's own count.
TEST(Recording, of_a_concluded_switch_only_how_the_previous_thread_stopped_is_unknown) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "app").thread(10, 11, "other");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(10 * ms, 0, 10, 0, 11)
        .concluded_switch(24 * ms, 0, 11, 10);
    builder.switched(30 * ms, 0, 10, 1, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->switch_gaps, 1);
    const auto intervals = intervals_of_thread(*recording, 10, {begin + ms, begin + 30 * ms});
    const TimeSplit split = split_time(*recording, intervals);
    EXPECT_EQ(split.on_cpu_ns, 15 * ms);
    EXPECT_EQ(split.runnable_ns, 14 * ms);
    EXPECT_EQ(split.not_recorded_ns, 0);
    const auto other = intervals_of_thread(*recording, 11, {begin + 10 * ms, begin + 30 * ms});
    const TimeSplit others = split_time(*recording, other);
    EXPECT_EQ(others.on_cpu_ns, 14 * ms);
    EXPECT_EQ(others.not_recorded_ns, 6 * ms);
}

// CPUs start recording one after the other, so a switch can precede the nominal begin.
TEST(Recording, a_switch_before_the_begin_leaves_nothing_unknown) {
    for (const std::uint64_t before : {35'000ULL, 0ULL}) {
        TraceBuilder builder(100 * ms);
        builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "other");
        builder.switched(0 - before, 0, 10, 0, 11).switched(20 * ms, 0, 11, 0, 10);
        const auto recording = builder.decode();
        ASSERT_TRUE(recording) << recording.error().message;
        const auto& first = recording->find_thread(10)->changes;
        EXPECT_EQ(first.front().state, ThreadState::Runnable) << before;
        EXPECT_EQ(first.front().at_ns, recording->begin_ns);
        EXPECT_EQ(recording->find_thread(11)->changes.front().state, ThreadState::Running)
            << before;
        EXPECT_EQ(recording->switch_gaps, 0U);
        const auto& tenures = recording->cpus[0];
        EXPECT_TRUE(std::is_sorted(
            tenures.begin(), tenures.end(),
            [](const CpuTenure& a, const CpuTenure& b) { return a.at_ns < b.at_ns; }));
    }
}

TEST(Recording, a_switch_that_the_merge_made_up_leaves_nobody_running) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "app").thread(75, 75, "other").thread(11, 11, "next");
    builder.switched(1 * ms, 0, 0, 0, 75);
    builder.switched(30 * ms, 0, 75, 1, 10).switched(30 * ms, 0, 10, 0x10, 11);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->switch_gaps, 1);
    EXPECT_EQ(recording->find_thread(10)->changes.back().state, ThreadState::Exited);
    const Window all{begin, begin + 100 * ms};
    EXPECT_EQ(split_time(*recording, intervals_of_thread(*recording, 10, all)).on_cpu_ns, 0);
    EXPECT_EQ(split_time(*recording, intervals_of_thread(*recording, 75, all)).on_cpu_ns, 0);
}

TEST(Recording, a_kernel_thread_without_work_waits_and_has_not_ended) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "kworker").thread(11, 11, "app");
    builder.switched(10 * ms, 0, 10, 0x80, 11).switched(20 * ms, 0, 11, 0x10, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->find_thread(10)->changes.back().state, ThreadState::Blocked);
    EXPECT_EQ(recording->find_thread(11)->changes.back().state, ThreadState::Exited);
}

TEST(Recording, a_cpu_without_switches_ran_its_sampled_thread) {
    TraceBuilder builder(100 * ms);
    builder.switched(10 * ms, 0, 0, 0, 12).samples(0, 100 * ms, 1, 10, 10, {"main", "spin"});
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->find_thread(10)->changes.back().state, ThreadState::Running);
    EXPECT_EQ(recording->find_thread(10)->changes.back().at_ns, begin);
}

TEST(Recording, references_to_nothing_are_left_out_and_counted) {
    TraceBuilder builder(100 * ms);
    builder.sample(1 * ms, 0, 10, 10, {"main"}).sample(2 * ms, 0, 10, 10, {"main"});
    // The second packet refers to definitions in the first; on its own it refers to nothing.
    const std::string trace = builder.trace();
    const std::string second = trace.substr(2 + static_cast<unsigned char>(trace[1]));
    const auto recording = decode_recording(second, builder.system);
    ASSERT_TRUE(recording) << recording.error().message;
    ASSERT_EQ(recording->find_thread(10)->samples.size(), 1);
    EXPECT_EQ(recording->find_thread(10)->samples[0].stack, 0);
    EXPECT_EQ(recording->unreadable, 1);
}

TEST(Recording, packets_of_a_million_parts_are_not_gathered) {
    TraceBuilder builder(100 * ms);
    const std::string parts = [] {
        std::string text;
        // perf_sample, empty
        for (int i = 0; i < 1'000'000; ++i) text += std::string("\x92\x04\0", 3);
        return text;
    }();
    const std::string packet = std::string("\x0a\xc0\x8d\xb7\x01", 5) + parts;
    const auto recording = decode_recording(packet, builder.system);
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(recording->unreadable, 1'000'000 - 1000);
}

TEST(Recording, thread_ids_beyond_the_kernels_are_left_out) {
    TraceBuilder builder(100 * ms);
    builder.switched(1 * ms, 0, 4'000'000'000, 0, 10).waking(2 * ms, 0, 10, 4'194'304);
    builder.sample(3 * ms, 0, 1, 4'194'304, {"main"}).thread(10, 4'194'304, "name");
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->unreadable, 4);
    EXPECT_TRUE(recording->threads.empty());
}

TEST(Recording, names_are_made_printable) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "evil\x1b[2J\n").sample(1 * ms, 0, 10, 10, {"fn\x07"});
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    for (const std::string& name : recording->names) {
        for (const char c : name) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
    }
}

TEST(Recording, cut_traces_are_read_or_refused) {
    const TraceBuilder builder = small_recording();
    const std::string whole = builder.trace();
    std::size_t refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto cut = decode_recording(std::string_view(whole).substr(0, size), builder.system);
        if (cut) continue;  // cut between two packets
        ++refused;
        EXPECT_EQ(cut.error().kind, ErrorKind::Invalid);
        EXPECT_THAT(cut.error().message, testing::StartsWith("the trace is damaged in packet"));
    }
    EXPECT_GT(refused, whole.size() / 2);
}

// Whatever the bytes are, reading and every query must end. Sanitizer builds check how.
TEST(Recording, changed_bytes_do_no_harm) {
    TraceBuilder builder = small_recording();
    builder.samples(10 * ms, 12 * ms, 0, 10, 10, {"main@/src/a.c:3", "work@/src/a.c:9"});
    builder.later_symbols("?:/lib/libz.so.1", {"copy@/src/copy.h:7", "inflate@/src/z.c:120"});
    const std::string whole = builder.trace();
    std::mt19937 random(20261121);
    std::size_t read = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string bytes = whole;
        for (std::uint32_t i = 0; i <= random() % 8; ++i)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        (void)read_places(bytes);
        const auto recording = decode_recording(bytes, builder.system);
        if (!recording) continue;
        ++read;
        const DelayReport report = report_delay(*recording, recording->system.delays.front());
        EXPECT_EQ(report.split.wall_ns, 30 * ms);
        (void)report_machine(*recording);
        (void)report_quality(*recording);
    }
    EXPECT_GT(read, 100);
}

TEST(Recording, bounds_are_those_of_the_trace_if_the_system_file_has_none) {
    TraceBuilder builder(100 * ms);
    builder.system.length_ns = 0;
    auto empty = builder.decode();
    ASSERT_TRUE(empty);
    EXPECT_EQ(empty->begin_ns, 0U);
    EXPECT_EQ(empty->end_ns, 0U);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.sample(3 * ms, 0, 10, 10, {"main"}).switched(7 * ms, 0, 10, 1, 0);
    auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->begin_ns, begin + 3 * ms);
    EXPECT_EQ(recording->end_ns, begin + 7 * ms);
    builder.switched(1 * ms, 1, 0, 0, 10).sample(9 * ms, 1, 10, 10, {"main"});
    recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->begin_ns, begin + 1 * ms);
    EXPECT_EQ(recording->end_ns, begin + 9 * ms);
}

TEST(Recording, cpus_are_those_of_the_trace_if_the_system_file_has_none) {
    TraceBuilder builder(100 * ms);
    builder.system.cpu_count = 0;
    EXPECT_EQ(builder.decode()->cpu_count, 1U);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.switched(1 * ms, 2, 0, 0, 10);
    EXPECT_EQ(builder.decode()->cpu_count, 3U);
    builder.sample(2 * ms, 4, 10, 10, {"main"});
    EXPECT_EQ(builder.decode()->cpu_count, 5U);
    builder.system.cpu_count = 8;
    EXPECT_EQ(builder.decode()->cpu_count, 8U);
}

TEST(Recording, a_recording_lasts_at_most_a_day) {
    TraceBuilder builder(24ULL * 3600 * 1'000 * ms);
    EXPECT_TRUE(builder.decode());
    ++builder.system.length_ns;
    EXPECT_EQ(builder.decode().error().message,
              "the system file says that the recording took longer than 24 hours");
}

TEST(Recording, samples_are_a_millisecond_apart_unless_the_system_file_says_otherwise) {
    Recording recording;
    EXPECT_EQ(recording.sample_interval_ns(), ms);
    recording.system.sample_interval_ns = 2 * ms;
    EXPECT_EQ(recording.sample_interval_ns(), 2 * ms);
}

TEST(Recording, is_read_from_a_folder_or_the_trace_in_it) {
    const trace::TemporaryDirectory folder;
    const TraceBuilder builder = small_recording();
    const auto write = [&](const std::string& name, const std::string& bytes) {
        std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    };
    const auto error_of = [&](const std::string& name) {
        const auto recording = read_recording(folder.path() / name);
        return recording ? "" : recording.error().message;
    };
    const std::string trace_path = (folder.path() / "trace.pftrace").string();
    write("system.xml", trace::write_system_file(builder.system));
    write("trace.pftrace", builder.trace());
    write("other.pftrace", "");
    for (const std::string name : {"", "trace.pftrace"}) {
        const auto recording = read_recording(folder.path() / name);
        ASSERT_TRUE(recording) << name;
        EXPECT_EQ(recording->threads.size(), 2U);
        EXPECT_EQ(recording->end_ns - recording->begin_ns, 100 * ms);
    }
    const auto other = read_recording(folder.path() / "other.pftrace");
    ASSERT_TRUE(other);
    EXPECT_TRUE(other->threads.empty());
    write("other.pftrace", "x");
    EXPECT_THAT(error_of("other.pftrace"), testing::HasSubstr("reading the trace of "));
    EXPECT_THAT(error_of("trace.bundle"), testing::HasSubstr("trace.bundle"));
    write("system.xml", "<system");
    EXPECT_THAT(error_of("trace.pftrace"),
                testing::HasSubstr("reading the system file of " + trace_path));
}

TEST(Recording, system_files_of_impossible_times_are_refused) {
    TraceBuilder builder = small_recording();
    builder.system.length_ns = UINT64_MAX;
    EXPECT_FALSE(builder.decode());
    builder.system.length_ns = 1000;
    builder.system.started_boottime_ns = UINT64_MAX - 10;
    EXPECT_FALSE(builder.decode());
}

}  // namespace
}  // namespace lagtrap::analysis::recording_tests
