#include "trace/merge/merge.hpp"

#include <gmock/gmock.h>

#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/merge_fixture.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::trace::merge_test {
namespace {

using testing::HasSubstr;

TEST_F(Merge, WritesEverythingOnce) {
    write_busy_capture(capture_.path());
    auto merged = merge();
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    EXPECT_FALSE(merged->partial);
    EXPECT_EQ(merged->runs, 9U);
    EXPECT_EQ(merged->delays, 2U);
    EXPECT_EQ(merged->samples, 7U);
    EXPECT_EQ(merged->switches, 5U);
    EXPECT_EQ(merged->late_records, 0U);
    EXPECT_EQ(merged->trace_bytes, std::filesystem::file_size(trace()));

    const json::object found = decoded(trace());
    EXPECT_EQ(count(found, "delays"), 2);
    EXPECT_EQ(count(found, "fast_runs"), 7);
    EXPECT_EQ(count(found, "stages"), 2);
    EXPECT_EQ(count(found, "slice_begins"), 11);
    EXPECT_EQ(count(found, "slice_ends"), 11);
    EXPECT_EQ(count(found, "samples"), 7);
    EXPECT_EQ(count(found, "switches"), 5);
    EXPECT_EQ(count(found, "wakings"), 1);
    // Three that blocked, and one that slept from the start; the client ran before it was listed.
    EXPECT_EQ(count(found, "off_cpu"), 4);
    EXPECT_EQ(count(found, "uuid"), 1);
    EXPECT_EQ(count(found, "system_info"), 1);
    EXPECT_EQ(json::serialize(found.at("sequences")), "[1,2,3,4,16,17]");
    EXPECT_EQ(found.at("clocks").as_object().at("6").to_number<std::uint64_t>(),
              start_ns + slept_ns);
    EXPECT_EQ(found.at("attributes")
                  .as_object()
                  .at("lagtrap.clock.monotonic_ns")
                  .to_number<std::uint64_t>(),
              start_ns);
    EXPECT_EQ(count(found, "new_tasks"), 3);
}

TEST_F(Merge, ResolvesStacksAtTheirTime) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(merge());
    const json::object found = decoded(trace());
    const json::object& stacks = found.at("stacks").as_object();
    // Outermost first; return addresses minus one; user frames, then the kernel's.
    const std::string user = "/lib/libc.so.6+0x20;/usr/bin/server+0x1100;/usr/bin/server+0x1010";
    EXPECT_TRUE(stacks.contains("100:" + user)) << json::serialize(stacks);
    EXPECT_TRUE(stacks.contains("100:" + user + ";do_syscall_64;do_sleep"))
        << json::serialize(stacks);
    EXPECT_TRUE(stacks.contains("300:/usr/bin/server+0x1010"));  // forked, before its exec
    // after it; gone when the recording ended
    EXPECT_TRUE(stacks.contains("300:/bin/sh+0x2010"));
    // the next process with that number
    EXPECT_TRUE(stacks.contains("300:/usr/bin/client+0x10"));
    EXPECT_TRUE(stacks.contains("200:[unknown]+0xdead0000"));
    const json::object& off_cpu = found.at("off_cpu_stacks").as_object();
    EXPECT_TRUE(
        off_cpu.contains("101:/usr/bin/server+0x1200;/lib/libc.so.6+0x100;do_syscall_64;do_sleep"));
    EXPECT_TRUE(off_cpu.contains("300:/bin/sh+0x2010;do_read"));
    EXPECT_TRUE(off_cpu.contains("200:[unknown]+0xdead0000;do_syscall_64;do_sleep"));
    EXPECT_TRUE(off_cpu.contains("200:do_read"));
    const json::object& modules = found.at("modules").as_object();
    EXPECT_EQ(text(modules.at("[kernel.kallsyms]")), "dead01");
    EXPECT_EQ(text(modules.at("/usr/bin/server")), "aabbcc");
    EXPECT_EQ(text(modules.at("/usr/bin/client")), "");
}

TEST_F(Merge, PutsRunsWhereTheyNest) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(merge());
    const json::object found = decoded(trace());
    EXPECT_FALSE(run_at(found, 5, 100).at("own_track").as_bool());
    EXPECT_FALSE(run_at(found, 40, 5).at("own_track").as_bool());
    EXPECT_FALSE(run_at(found, 40, 2).at("own_track").as_bool());
    // crosses the border between two stages
    EXPECT_TRUE(run_at(found, 25, 10).at("own_track").as_bool());
    const json::object crossing = run_at(found, 12, 10);
    EXPECT_TRUE(crossing.at("own_track").as_bool());
    EXPECT_EQ(crossing.at("key").to_number<int>(), 77);
    EXPECT_EQ(crossing.at("end_tid").to_number<int>(), 200);
    const json::object open = run_at(found, -60, 259);
    EXPECT_EQ(open.at("open").to_number<int>(), 1);
    EXPECT_EQ(open.at("first").to_number<int>(), 1);
    EXPECT_EQ(open.at("reported_at_deadline").to_number<int>(), 1);
    EXPECT_EQ(run_at(found, 5, 100).at("first").to_number<int>(), 0);
    EXPECT_EQ(run_at(found, 50, 1).at("abandoned").to_number<int>(), 1);
    EXPECT_EQ(run_at(found, 60, 4).at("queued_ns").to_number<std::uint64_t>(), 3 * millisecond_ns);
    const json::array stages = run_at(found, 5, 100).at("stages").as_array();
    ASSERT_EQ(stages.size(), 2U);
    EXPECT_EQ(text(stages[0].as_array()[0]), "parse");
    EXPECT_EQ(stages[1].as_array()[1].to_number<std::uint64_t>(), at_ms(30) + slept_ns);
}

TEST_F(Merge, NamesAreTextWhateverTheyWere) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(merge());
    const json::object found = decoded(trace());
    const std::string names = json::serialize(found.at("names"));
    EXPECT_THAT(names, HasSubstr(R"("work\\x01\\xff\\x0a")"));
    EXPECT_THAT(names, HasSubstr(R"("sh\\x0a\\x1b[31m")"));
    EXPECT_THAT(names, HasSubstr("helper"));
    const json::object& processes = found.at("processes").as_object();
    EXPECT_EQ(json::serialize(processes.at("100").as_object().at("cmdline")),
              R"(["server","--port","80"])");
    EXPECT_EQ(json::serialize(processes.at("2").as_object().at("cmdline")), R"(["kthreadd"])");
    // The second process with that number, with its parent's name.
    EXPECT_EQ(processes.at("300").as_object().at("ppid").to_number<int>(), 200);
}

TEST_F(Merge, SystemFileListsTheDelays) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(merge());
    const SystemFile file = system();
    EXPECT_EQ(file.session_id, synthetic_session().id);
    EXPECT_FALSE(file.partial);
    EXPECT_EQ(file.trigger_reason, "deadline");
    EXPECT_EQ(file.trigger_event, "request");
    EXPECT_EQ(file.started_boottime_ns, start_ns + slept_ns);
    EXPECT_EQ(file.length_ns, 200 * millisecond_ns);
    EXPECT_EQ(file.runs.at("request").runs, 2U);
    EXPECT_EQ(file.runs.at("request").delays, 2U);
    EXPECT_EQ(file.runs.at("disk").runs, 7U);
    EXPECT_EQ(file.quality.runs_lost, 1U);  // the one of an unknown event
    ASSERT_EQ(file.delays.size(), 2U);
    const Delay& first = file.delays[0];
    EXPECT_TRUE(first.first && first.open);
    EXPECT_EQ(first.begin_ns, at_ms(-60) + slept_ns);
    const Delay& delay = file.delays[1];
    EXPECT_EQ(delay.event, "request");
    EXPECT_EQ(delay.duration_ns, 100 * millisecond_ns);
    EXPECT_EQ(delay.process, "server");
    EXPECT_EQ(delay.thread, "comm of run");
    EXPECT_EQ(delay.program, "/usr/bin/server");
    EXPECT_EQ(delay.program_build_id, "aabbcc");
    ASSERT_EQ(delay.stages.size(), 2U);
    EXPECT_EQ(delay.stages[1].name, "execute");
    EXPECT_EQ(delay.stages[1].offset_ns, 25 * millisecond_ns);
    // By the id of its slice.
    const json::object slice =
        decoded(trace()).at("runs").as_object().at(std::to_string(delay.run_id)).as_object();
    EXPECT_EQ(slice.at("duration_ns").to_number<std::uint64_t>(), delay.duration_ns);
    ASSERT_EQ(file.modules.size(), 5U);
    EXPECT_EQ(file.modules[3].path, "/usr/bin/server");
    EXPECT_EQ(file.modules[3].build_id, "aabbcc");
    EXPECT_EQ(file.modules[4].path, "[kernel.kallsyms]");
    EXPECT_EQ(file.modules[4].build_id, "dead01");
}

TEST_F(Merge, SystemFileSaysHowItWasRecorded) {
    Session session = synthetic_session();
    session.planned_length_ns = 11;
    session.longest_length_ns = 12;
    session.history_length_ns = 13;
    session.history_interval_ns = 14;
    session.end = RecordingEnd::RunGone;
    session.sample_interval_ns = 15;
    session.cpu_count = 16;
    session.lagtrap_version = "1.2.3";
    session.started_ns = start_ns + 7;
    session.ended_ns = start_ns + 27;
    session.quality.wakings_lost = 17;
    session.trigger.event = 1;
    session.events[0].markers = {"m0", "m1", "m2", "m3"};
    session.events[1].markers = {"only one"};
    { SyntheticCapture(capture_.path(), session).flush(); }
    std::filesystem::create_directories(proc_.path() / "etc");
    ASSERT_TRUE(write_file_durably(proc_.path() / "etc/os-release", "PRETTY_NAME=\"An OS\"\n"));
    options_.symbols.machine = proc_.path();
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->session_id, session.id);
    const SystemFile file = system();
    EXPECT_EQ(file.lagtrap_version, "1.2.3");
    EXPECT_EQ(file.os_name, "An OS");
    EXPECT_EQ(file.cpu_count, 16U);
    EXPECT_EQ(file.started_realtime_ns, 1'795'000'000'000'000'007U);
    EXPECT_EQ(file.started_boottime_ns, start_ns + slept_ns + 7);
    EXPECT_EQ(file.length_ns, 20U);
    EXPECT_EQ(file.trace_length_ns, 11U);
    EXPECT_EQ(file.trace_length_limit_ns, 12U);
    EXPECT_EQ(file.history_length_ns, 13U);
    EXPECT_EQ(file.history_interval_ns, 14U);
    EXPECT_EQ(file.end, RecordingEnd::RunGone);
    EXPECT_EQ(file.sample_interval_ns, 15U);
    EXPECT_EQ(file.stack_method, "frame-pointer");
    EXPECT_EQ(file.trigger_reason, "deadline");
    EXPECT_EQ(file.trigger_event, "disk");
    EXPECT_EQ(file.breach_boottime_ns, at_ms(-10) + slept_ns);
    EXPECT_EQ(file.quality.wakings_lost, 17U);
    EXPECT_EQ(file.runs.size(), 2U) << "also those without a run";
    std::string markers;
    for (const EventMarker& marker : file.markers.at("request"))
        markers += marker.stage + ":" + marker.text + " ";
    EXPECT_EQ(markers, ":m0 parse:m1 execute:m2 :m3 ");
    EXPECT_FALSE(file.markers.contains("disk")) << "not one for each place";
    const std::pair<TriggerReason, const char*> reasons[] = {{TriggerReason::Deadline, "deadline"},
                                                             {TriggerReason::End, "end"},
                                                             {TriggerReason::Manual, "manual"}};
    for (const auto& [reason, name] : reasons) {
        session.trigger.reason = reason;
        ASSERT_TRUE(write_session(capture_.path(), session));
        ASSERT_TRUE(merge());
        EXPECT_EQ(system().trigger_reason, name);
    }
}

TEST_F(Merge, ATraceThatCannotBeWrittenLeavesNothing) {
    write_busy_capture(capture_.path());
    std::filesystem::create_directories(capture_.path() / "trace.pftrace" / "in-the-way");
    const auto merged = merge();
    ASSERT_FALSE(merged.ok());
    EXPECT_THAT(merged.error().message,
                testing::StartsWith("merge " + capture_.path().string() + ": "));
    std::filesystem::remove(capture_.path() / "session.json");
    EXPECT_THAT(merge().error().message, testing::StartsWith("merge: "));
}

TEST_F(Merge, CountsHowGoodTheStacksAre) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(merge());
    const StackQuality stacks = system().stacks;
    // Samples: 11, 11 with kernel, 14, 16, 15, 13 and 999, which no log has; off-CPU: 12 (at the
    // start), 14, 16.
    EXPECT_EQ(stacks.user_stacks, 10U);
    EXPECT_EQ(stacks.user_stacks_complete, 2U);
    EXPECT_EQ(stacks.on_cpu.stacks, 7U);
    EXPECT_EQ(stacks.on_cpu.complete, 2U);
    EXPECT_EQ(stacks.on_cpu.by_frame_pointers, 0U);
    EXPECT_EQ(stacks.off_cpu.stacks, 3U);
    EXPECT_EQ(stacks.off_cpu.complete, 0U);
    EXPECT_EQ(stacks.frames, 3U + 3 + 2 + 1 + 1 + 1 + 1 + (2 + 2) + (1 + 1) + (1 + 2) + 1);
    EXPECT_EQ(stacks.frames_named, 2U + 2 + 1 + 2 + 1);  // the kernel's
    EXPECT_EQ(stacks.naming.modules, 4U);                // server, libc, sh, client
    EXPECT_EQ(stacks.naming.modules_gone, 4U);
}

// After a crash, the next boot merges what there is: its kernel is at other addresses.
TEST_F(Merge, FunctionsOfAnotherBootsKernelAreNotNamed) {
    write_busy_capture(capture_.path());
    Session session = synthetic_session();
    session.boot_id = "4b2a8c1e-0000-4000-8000-000000000001";
    ASSERT_TRUE(write_session(capture_.path(), session));
    std::filesystem::create_directories(proc_.path() / "sys/kernel/random");
    const auto boot_id = proc_.path() / "sys/kernel/random/boot_id";
    ASSERT_TRUE(write_file_durably(boot_id, session.boot_id + "\n"));
    ASSERT_TRUE(merge());
    EXPECT_EQ(system().stacks.frames_named, 8U);
    ASSERT_TRUE(write_file_durably(boot_id, "4b2a8c1e-0000-4000-8000-000000000002\n"));
    ASSERT_TRUE(merge());
    EXPECT_EQ(system().stacks.frames_named, 0U);
}

TEST_F(Merge, GivesTheSameBytesAgain) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(merge());
    const std::string first = read_file(trace(), 1 << 20).value();
    const std::string first_system = read_file(capture_.path() / "system.xml", 1 << 20).value();
    ASSERT_TRUE(merge());
    EXPECT_EQ(read_file(trace(), 1 << 20).value(), first);
    EXPECT_EQ(read_file(capture_.path() / "system.xml", 1 << 20).value(), first_system);
}

TEST_F(Merge, RunsBeyondTheMemoryTheyMayTakeAreMergedAllTheSame) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        for (int i = 0; i < 5000; ++i) {
            const double begin = (i * 7919) % 5000 * 0.03;  // in no order
            capture.run(SyntheticCapture::make_run(1, 100, 100, begin, begin + 0.01));
        }
        capture.flush();
    }
    options_.runs_limit_bytes = 64 * 1024;
    auto merged = merge();
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    const json::object found = decoded(trace());
    EXPECT_EQ(count(found, "fast_runs"), 5000);
    EXPECT_EQ(count(found, "own_tracks"), 0);
}

TEST_F(Merge, ManyOpenAtOnceAcrossThreadsShareFewTracks) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        for (int i = 0; i < 2000; ++i) {
            auto run = SyntheticCapture::make_run(1, 100, 100, i * 0.001, 5 + i * 0.002);
            run.end_tid = 101;
            run.key = static_cast<std::uint64_t>(i);
            capture.run(run);
            auto next = SyntheticCapture::make_run(1, 100, 100, 50 + i * 0.01, 50.005 + i * 0.01);
            next.end_tid = 101;
            capture.run(next);
        }
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const json::object found = decoded(trace());
    EXPECT_EQ(count(found, "fast_runs"), 4000);
    EXPECT_EQ(count(found, "own_tracks"), 2000);
}

TEST_F(Merge, TheTracersOwnFramesAreTakenOff) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        capture.kernel_stack(1, 21,
                             {0xffffffffc0000010, 0xffffffff81000310, 0xffffffff81000410,
                              0xffffffff81000010, 0xffffffff81000201});
        capture.switched(2, 0, 100, 100, 1, 0, 0, 21);
        capture.flush();
    }
    ASSERT_TRUE(merge());
    EXPECT_EQ(json::serialize(decoded(trace()).at("off_cpu_stacks")),
              R"({"100:do_syscall_64;do_sleep":1})");
}

// The state of a dead task has a bit that the tracepoint uses for idle kernel threads.
TEST_F(Merge, TellsThreadsThatEndedFromThoseThatWait) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        for (const std::uint32_t tid : {100U, 101U, 102U}) capture.thread(tid, tid, "thread");
        capture.switched(2, 0, 100, 100, 0x80, 101, 101);   // TASK_DEAD
        capture.switched(3, 0, 101, 101, 0x402, 102, 102);  // TASK_IDLE
        capture.switched(4, 0, 102, 102, 1, 0, 0);
        capture.flush();
    }
    ASSERT_TRUE(merge());
    EXPECT_EQ(json::serialize(decoded(trace()).at("switch_states")), "[16,128,1]");
}

TEST_F(Merge, SwitchesThatAreMissingAreCounted) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        for (const std::uint32_t tid : {100U, 101U, 102U}) capture.thread(tid, tid, "thread");
        capture.switched(2, 0, 100, 100, 1, 101, 101);
        capture.switched(3, 1, 0, 0, 0, 100, 100);
        capture.switched(4, 0, 102, 102, 1, 0, 0);  // 102's arrival was not recorded
        capture.switched(5, 1, 100, 100, 1, 0, 0);
        capture.flush();
    }
    ASSERT_TRUE(merge());
    EXPECT_EQ(system().quality.switches_lost, 1U);
}

// Like the init process of some virtual machines: no iterator lists its threads.
TEST_F(Merge, AProcessWithoutListedThreadsHasTheNameThatItsCommandLineSays) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        capture.process(1, 0, "", "/sbin/guest-init --quiet", 3);
        capture.switched(2, 0, 100, 100, 1, 1, 7);
        capture.switched(4, 0, 1, 7, 1, 100, 100);
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const json::object found = decoded(trace());
    const json::object& process = found.at("processes").as_object().at("1").as_object();
    EXPECT_EQ(json::serialize(process.at("cmdline")), R"(["/sbin/guest-init","--quiet"])");
}

TEST_F(Merge, LateRecordsAreCountedNotMisplaced) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        for (int i = 0; i < 100; ++i) capture.sample(10 + i, 0, 100, 100, 0, 0);
        capture.sample(1, 0, 100, 100, 0, 0);
        capture.switched(2, 0, 100, 100, 0, 0, 0);
        capture.flush();
    }
    options_.reorder_window_records = 16;
    auto merged = merge();
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(merged->late_records, 2U);
    EXPECT_EQ(count(decoded(trace()), "samples"), 100);
    EXPECT_EQ(system().quality.samples_lost, 1U);
    EXPECT_EQ(system().quality.switches_lost, 1U);
}

TEST_F(Merge, NumbersOfCallstacksBeginAnewBeforeTheyAreTooMany) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(merge());
    const json::object all = decoded(trace());
    options_.callstacks_limit = 1;
    ASSERT_TRUE(merge());
    const json::object few = decoded(trace());
    EXPECT_GT(count(few, "packets"), count(all, "packets"));
    EXPECT_EQ(few.at("stacks"), all.at("stacks"));
    EXPECT_EQ(few.at("off_cpu_stacks"), all.at("off_cpu_stacks"));
}

// The rundown found nothing about it.
TEST_F(Merge, AProcessThatExitedAtOnceHasTheNameOfItsThread) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.run(SyntheticCapture::make_run(1, 100, 100, 0, 11));
        capture.run(SyntheticCapture::make_run(1, 200, 201, 20, 31));
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const auto file = system();
    ASSERT_EQ(file.delays.size(), 2U);
    EXPECT_EQ(file.delays[0].process, "comm of run");
    EXPECT_EQ(file.delays[1].process, "") << "the name of another thread may differ";
}

TEST_F(Merge, DelaysBeyondTheLimitAreCounted) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        for (int i = 0; i < 10; ++i) {
            auto run = SyntheticCapture::make_run(1, 100, 100, i * 15, i * 15 + 11);
            capture.run(run);
        }
        capture.flush();
    }
    options_.delays_limit = 4;
    ASSERT_TRUE(merge());
    EXPECT_EQ(system().delays.size(), 4U);
    EXPECT_EQ(system().delays_left_out, 6U);
    EXPECT_EQ(system().runs.at("disk").delays, 10U);
}

TEST_F(Merge, ACaptureCutShortIsMergedAsFarAsItGoes) {
    write_busy_capture(capture_.path());
    Session session = synthetic_session();
    session.finished = false;
    session.ended_ns = 0;
    ASSERT_TRUE(write_session(capture_.path(), session));
    auto merged = merge();
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    EXPECT_TRUE(merged->partial);
    EXPECT_TRUE(system().partial);
    EXPECT_EQ(system().length_ns, 199 * millisecond_ns);  // up to the last record
    EXPECT_EQ(system().quality.samples_taken, 7U);
    decoded(trace());
}

TEST_F(Merge, TornLogsAreMergedAsFarAsTheyGo) {
    for (const LogKind kind : {LogKind::User, LogKind::Kernel, LogKind::Rundown}) {
        TemporaryDirectory whole;
        write_busy_capture(whole.path());
        const std::string log = read_file(whole.path() / log_file_name(kind), 1 << 20).value();
        for (const std::size_t length :
             {std::size_t{0}, std::size_t{50}, std::size_t{112}, log.size() / 2, log.size() - 1}) {
            TemporaryDirectory torn;
            std::filesystem::copy(whole.path(), torn.path(),
                                  std::filesystem::copy_options::recursive);
            std::filesystem::resize_file(torn.path() / log_file_name(kind), length);
            auto merged = merge_capture(torn.path(), options_);
            ASSERT_TRUE(merged.ok()) << merged.error().message;
            // A log that was never written is intact; anything else is torn.
            EXPECT_EQ(merged->partial, length != 112) << log_file_name(kind) << " " << length;
            decoded(torn.path() / "trace.pftrace");
        }
        TemporaryDirectory missing;
        std::filesystem::copy(whole.path(), missing.path(),
                              std::filesystem::copy_options::recursive);
        std::filesystem::remove(missing.path() / log_file_name(kind));
        auto merged = merge_capture(missing.path(), options_);
        ASSERT_TRUE(merged.ok()) << merged.error().message;
        EXPECT_TRUE(merged->partial);
        decoded(missing.path() / "trace.pftrace");
    }
}

TEST_F(Merge, LogsOfAnotherSessionAreRefused) {
    write_busy_capture(capture_.path());
    Session other = synthetic_session();
    other.id = "11111111-d9cb-469f-a165-70867728950e";
    ASSERT_TRUE(write_session(capture_.path(), other));
    auto merged = merge();
    ASSERT_FALSE(merged.ok());
    EXPECT_THAT(merged.error().message, HasSubstr("belongs to session 0f8fad5b"));
    EXPECT_FALSE(std::filesystem::exists(trace()));
}

TEST_F(Merge, WithoutASessionThereIsNoMerge) {
    EXPECT_EQ(merge().error().kind, ErrorKind::NotFound);
}

std::string build_id_of(const std::string& hexadecimal) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16));
    return bytes;
}

}  // namespace

// Visible to the dynamic linker, so that a stripped build can name it too.
extern "C" __attribute__((noinline, visibility("default"))) int lagtrap_test_function(int value) {
    return value * 3;
}

namespace {

// The executable mapping of this program that contains `address`.
struct OwnMapping {
    std::uint64_t start = 0, end = 0, offset = 0;
};
OwnMapping own_mapping(std::uint64_t address) {
    const std::string maps = read_file("/proc/self/maps", 4 << 20).value();
    std::size_t at = 0;
    while (at < maps.size()) {
        OwnMapping mapping;
        std::sscanf(maps.c_str() + at, "%lx-%lx %*s %lx", &mapping.start, &mapping.end,
                    &mapping.offset);
        if (address >= mapping.start && address < mapping.end) return mapping;
        at = maps.find('\n', at) + 1;
    }
    return {};
}

TEST_F(Merge, NamesFunctionsOfFilesThatAreTheVeryOnes) {
    const auto address = reinterpret_cast<std::uint64_t>(&lagtrap_test_function);
    const OwnMapping mapping = own_mapping(address);
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string notes = output_of("readelf -n '" + program + "'").text;
    const std::size_t id_at = notes.find("Build ID: ");
    ASSERT_NE(id_at, std::string::npos);
    const std::string build_id = build_id_of(notes.substr(id_at + 10, 40));
    std::string other_id = build_id;
    other_id[0] = static_cast<char>(other_id[0] ^ 1);
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "this");
        capture.thread(101, 101, "other");
        for (const auto& [pid, id] : {std::pair{100U, build_id}, std::pair{101U, other_id}})
            capture.mapping(pid, 1, mapping.start, mapping.end - mapping.start, mapping.offset,
                            program, id);
        capture.user_stack(2, 11, 100, {address});
        capture.user_stack(2, 12, 101, {address});
        capture.sample(3, 0, 100, 100, 0, 11);
        capture.sample(4, 0, 101, 101, 0, 12);
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const json::object found = decoded(trace());
    const json::object& stacks = found.at("stacks").as_object();
    EXPECT_TRUE(stacks.contains("100:lagtrap_test_function")) << json::serialize(stacks);
    char place[64];
    std::snprintf(place, sizeof(place), "+0x%lx", address - mapping.start + mapping.offset);
    EXPECT_TRUE(stacks.contains("101:" + program + place)) << json::serialize(stacks);
}

TEST_F(Merge, ProgramMakesABundle) {
    write_busy_capture(capture_.path());
    ASSERT_TRUE(write_file_durably(capture_.path() / "settings.xml", "<lagtrap/>"));
    TemporaryDirectory output;
    const Output made = output_of(build_folder() + "/trace/lagtrap-merge '" +
                                  capture_.path().string() + "' '" + output.path().string() + "'");
    ASSERT_EQ(made.exit_code, 0);
    const json::object said = json::parse(made.text).as_object();
    const std::string bundle = text(said.at("bundle"));
    EXPECT_EQ(said.at("delays").to_number<int>(), 2);
    EXPECT_EQ(said.at("bytes").to_number<std::uint64_t>(), std::filesystem::file_size(bundle));
    auto content = read_bundle(bundle);
    ASSERT_TRUE(content.ok()) << content.error().message;
    EXPECT_EQ(content->settings_xml, "<lagtrap/>");
    EXPECT_EQ(read_system_file(content->system_xml)->delays.size(), 2U);
    EXPECT_EQ(content->trace.size(), std::filesystem::file_size(trace()));
}

TEST_F(Merge, ProgramSaysWhatIsWrong) {
    const std::string program = build_folder() + "/trace/lagtrap-merge";
    const Output usage = output_of(program + " only-one 2>&1");
    EXPECT_EQ(usage.exit_code, 2);
    EXPECT_THAT(usage.text, HasSubstr("usage: lagtrap-merge"));
    const Output failed = output_of(program + " '" + capture_.path().string() + "' /tmp 2>&1");
    EXPECT_EQ(failed.exit_code, 1);
    EXPECT_THAT(failed.text, HasSubstr("session.json: No such file"));
}

}  // namespace
}  // namespace lagtrap::trace::merge_test
