#include "trace/merge/delay_list.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::delay_list_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Delays : public Packets {
  protected:
    Delays() {
        std::filesystem::create_directory(folder_.path() / "etc");
        EXPECT_TRUE(write_file_durably(folder_.path() / "etc/passwd",
                                       "root:x:0:0:root:/:/bin/sh\nshop:x:1000:1000::/:/bin/sh\n"));
    }
    MergeOptions options() {
        MergeOptions made;
        made.delays_limit = 2;
        made.symbols.machine = folder_.path();
        return made;
    }
    static Session session() {
        Session made = synthetic_session();
        made.clocks = {100, 1100, 7};
        made.started_ns = 50;
        return made;
    }
    void know_process(std::uint32_t pid, const std::string& texts, std::uint64_t at_ns = 1) {
        lagtrap_process process{};
        process.pid = pid;
        process.parent_pid = 1;
        process.uid = 1000;
        process.text_bytes = static_cast<__u32>(texts.size());
        load_rundown(contents_.spaces,
                     record_with(process, LAGTRAP_RECORD_PROCESS, at_ns, 0, texts));
    }
    void list(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
        lagtrap_thread thread{};
        thread.pid = pid;
        thread.tid = tid;
        set_comm(thread.comm, name);
        threads_.write_initial({thread}, 1);
    }
    static lagtrap_run run(std::uint32_t tid = 101) {
        lagtrap_run made{};
        made.begin_pid = 100;
        made.begin_tid = tid;
        made.end_pid = 200;
        made.end_tid = 202;
        made.begin_ns = 60;
        made.end_ns = 90;
        return made;
    }
    const Delay& add(const lagtrap_run& run, RunFacts facts = {7, 30, 0, true, false}) {
        delays_.add(run, facts, threads_);
        return contents_.file.delays.back();
    }

    CaptureContents contents_{folder_.path(), options(), session()};
    ThreadTable threads_{contents_.spaces, writer_, 1000, contents_.session.containers};
    DelayList delays_{contents_};
};

TEST_F(Delays, HaveTheFactsOfTheirRun) {
    lagtrap_run slow = run();
    slow.event = 1;
    slow.key = 77;
    set_comm(slow.comm, "worker\n");
    const Delay& delay = add(slow, {7, 30, 5, true, false});
    EXPECT_EQ(delay.run_id, 7U);
    EXPECT_EQ(delay.event, "disk");
    EXPECT_EQ(delay.threshold_ns, 10 * millisecond_ns);
    EXPECT_EQ(delay.begin_ns, 1060U);
    EXPECT_EQ(delay.duration_ns, 30U);
    EXPECT_EQ(delay.queued_ns, 5U);
    EXPECT_EQ(delay.key, 77U);
    EXPECT_EQ(delay.goroutine, 0U);
    EXPECT_EQ(delay.begin_pid, 100U);
    EXPECT_EQ(delay.begin_tid, 101U);
    EXPECT_EQ(delay.end_pid, 200U);
    EXPECT_EQ(delay.end_tid, 202U);
    EXPECT_EQ(delay.thread, "worker\\x0a");
    EXPECT_FALSE(delay.open || delay.first || delay.earlier_begin || delay.in_go ||
                 delay.without_stages);
    EXPECT_THAT(delays_.processes(), ElementsAre(100U));
}

TEST_F(Delays, EachFlagIsItsOwn) {
    contents_.options.delays_limit = 100;
    const auto flags = [&](unsigned flag, bool first = false) {
        lagtrap_run one = run();
        one.flags = static_cast<__u8>(flag);
        one.key = 7;
        const Delay& delay = add(one, {1, 30, 0, true, first});
        return std::string(delay.open ? "open " : "") + (delay.first ? "first " : "") +
               (delay.earlier_begin ? "earlier " : "") + (delay.in_go ? "go " : "") +
               (delay.without_stages ? "stageless " : "") + "key " + std::to_string(delay.key) +
               " goroutine " + std::to_string(delay.goroutine);
    };
    EXPECT_EQ(flags(0), "key 7 goroutine 0");
    EXPECT_EQ(flags(0, true), "first key 7 goroutine 0");
    EXPECT_EQ(flags(LAGTRAP_RUN_OPEN), "open key 7 goroutine 0");
    EXPECT_EQ(flags(LAGTRAP_RUN_EARLIER_BEGIN), "earlier key 7 goroutine 0");
    EXPECT_EQ(flags(LAGTRAP_RUN_IN_GO), "go key 7 goroutine 0");
    EXPECT_EQ(flags(LAGTRAP_RUN_WITHOUT_STAGES), "stageless key 7 goroutine 0");
    EXPECT_EQ(flags(LAGTRAP_RUN_OF_GOROUTINE), "key 0 goroutine 7");
    EXPECT_EQ(flags(LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED | LAGTRAP_RUN_ABANDONED),
              "key 7 goroutine 0");
}

TEST_F(Delays, HaveTheFactsOfTheirProcess) {
    contents_.options.delays_limit = 100;
    list(100, 100, "app");
    know_process(100,
                 std::string("/opt/v1/app\0app -x\0/system.slice/shop.service\0/usr/bin/app", 58));
    const Delay& delay = add(run());
    EXPECT_EQ(delay.process, "app");
    EXPECT_EQ(delay.program, "/usr/bin/app") << "as it was started";
    EXPECT_EQ(delay.control_group, "/system.slice/shop.service");
    EXPECT_EQ(delay.unit, "shop.service");
    EXPECT_EQ(delay.user, "shop");
    EXPECT_EQ(delay.program_build_id, "");
    lagtrap_run other = run();
    other.begin_pid = 300;
    know_process(300, std::string("/opt/app\0", 9));
    EXPECT_EQ(add(other).program, "/opt/app");
    EXPECT_EQ(add(other).control_group, "");
    other.begin_pid = 400;
    EXPECT_EQ(add(other).program, "");
    EXPECT_EQ(add(other).user, "");
    EXPECT_THAT(delays_.processes(), ElementsAre(100U, 300U, 400U));
}

// It began before anybody listed its process.
TEST_F(Delays, BeforeTheRecordingHaveTheProcessOfItsBegin) {
    know_process(100, std::string("/bin/now\0", 9), 50);
    lagtrap_run early = run();
    early.begin_ns = 10;
    EXPECT_EQ(add(early).program, "/bin/now");
}

TEST_F(Delays, AreNamedByTheirThread) {
    contents_.options.delays_limit = 100;
    EXPECT_EQ(add(run()).thread, "");
    EXPECT_EQ(add(run()).process, "");
    lagtrap_run named = run();
    set_comm(named.comm, "own");
    EXPECT_EQ(add(named).thread, "own");
    EXPECT_EQ(add(named).process, "") << "another thread of the process may have another name";
    named.begin_tid = named.begin_pid;
    EXPECT_EQ(add(named).process, "own") << "the process's first thread";
    list(100, 101, "listed");
    EXPECT_EQ(add(run()).thread, "listed");
    EXPECT_EQ(add(named).thread, "own");
}

TEST_F(Delays, BeyondTheLimitAreCountedUnlessTheyStartedTheRecording) {
    for (int i = 0; i < 4; ++i) add(run());
    EXPECT_EQ(contents_.file.delays.size(), 2U);
    EXPECT_EQ(contents_.file.delays_left_out, 2U);
    lagtrap_run first = run();
    first.begin_pid = 500;
    EXPECT_TRUE(add(first, {9, 30, 0, true, true}).first);
    EXPECT_EQ(contents_.file.delays.size(), 3U);
    EXPECT_EQ(contents_.file.delays_left_out, 2U);
    EXPECT_THAT(delays_.processes(), ElementsAre(100U, 500U));
}

TEST_F(Delays, HaveTheStagesThatTheirEventHas) {
    lagtrap_run staged = run();
    const auto add_stage = [&](std::uint64_t at_ns, std::uint16_t stage, std::uint32_t tid) {
        staged.stages[staged.stage_count++] = {at_ns, tid, stage, 0};
    };
    add_stage(80, 1, 11);
    add_stage(70, 0, 12);
    add_stage(75, 2, 13);  // of no stage
    add_stage(40, 1, 14);  // before the begin
    add_stage(99, 0, 15);  // after the end
    add_stage(70, 1, 16);  // at the same time as an earlier one
    std::vector<std::string> stages;
    for (const StageTime& stage : add(staged).stages)
        stages.push_back(stage.name + " " + std::to_string(stage.offset_ns) + " " +
                         std::to_string(stage.tid));
    EXPECT_THAT(stages, ElementsAre("execute 0 14", "parse 10 12", "execute 10 16", "execute 20 11",
                                    "parse 30 15"));
    staged.event = 1;
    EXPECT_THAT(add(staged).stages, IsEmpty());
}

TEST_F(Delays, HaveWhatTheirMarkerCarried) {
    lagtrap_trace_text text{};
    text.begin_hit_ns = 60;
    text.begin_tid = 101;
    const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
    text.bytes = static_cast<__s32>(id.size() + 1);
    std::memcpy(text.text, id.data(), id.size());
    contents_.run_details.take(text);
    lagtrap_run traced = run();
    traced.begin_hit_ns = 60;
    EXPECT_EQ(add(traced).trace.trace_id, id);
    traced.begin_hit_ns = 61;
    EXPECT_EQ(add(traced).trace.trace_id, "");
}

}  // namespace
}  // namespace lagtrap::trace::delay_list_test
