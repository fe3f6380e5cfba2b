#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/stack_profile.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::formats::profile_of_recording_test {
namespace {

using analysis::ThreadState;
using analysis::TimeKind;
using testing::ElementsAre;
constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t begin_ns = 5'000 * ms;

// A recording of 100 ms; times are milliseconds after its begin.
class ProfileOfRecording : public testing::Test {
  protected:
    ProfileOfRecording() {
        auto& recording = made_.recording;
        recording.begin_ns = begin_ns;
        recording.end_ns = begin_ns + 100 * ms;
        recording.has_scheduling = true;
        recording.system.session_id = "session";
    }
    analysis::Thread& thread(std::uint32_t pid, std::uint32_t tid, const std::string& name = "") {
        return made_.thread(pid, tid, name);
    }
    static void state(analysis::Thread& thread, std::uint64_t at_ms, ThreadState state,
                      analysis::StackId stack = 0, std::uint16_t cpu = 0) {
        analysis::StateChange change;
        change.at_ns = begin_ns + at_ms * ms;
        change.state = state;
        change.stack = stack;
        change.cpu = cpu;
        thread.changes.push_back(change);
    }
    static void sample(analysis::Thread& thread, std::uint64_t at_ms, analysis::StackId stack,
                       std::uint32_t cpu = 0) {
        thread.samples.push_back({begin_ns + at_ms * ms, stack, cpu});
    }
    trace::Delay& delay(std::int64_t at_ms, std::uint64_t length_ms, std::uint32_t tid = 11) {
        trace::Delay made;
        made.run_id = 7;
        made.event = "query";
        made.begin_ns = begin_ns + static_cast<std::uint64_t>(at_ms) * ms;
        made.duration_ns = length_ms * ms;
        made.begin_pid = made.end_pid = 10;
        made.begin_tid = made.end_tid = tid;
        made_.recording.system.delays.push_back(made);
        return made_.recording.system.delays.back();
    }
    StackProfile profile(const ProfileChoice& choice = {}) {
        auto made = profile_of_recording(made_.recording, choice);
        EXPECT_TRUE(made) << made.error().message;
        return made ? std::move(made).value() : StackProfile{};
    }
    // "0+30 main;work*4", with the kind of other time: begin, length, stack to the leaf and, if it
    // is not the length, weight.
    static std::vector<std::string> pieces_of(const StackProfile& profile, std::size_t thread = 0) {
        std::vector<std::string> found;
        for (const Piece& piece : profile.threads.at(thread).pieces) {
            std::string text = std::to_string(piece.begin_ns / ms) + "+" +
                               std::to_string(piece.length_ns / ms) + " ";
            for (const std::uint32_t node : profile.path_of(piece.leaf))
                text += (text.back() == ' ' ? "" : ";") +
                        profile.places.at(profile.nodes.at(node).place).function;
            if (piece.weight_ns != piece.length_ns)
                text += "*" + std::to_string(piece.weight_ns / ms);
            found.push_back(text);
        }
        return found;
    }

    test::MadeRecording made_;
};

TEST_F(ProfileOfRecording, EachSampleCoversTheTimeAroundIt) {
    auto& worker = thread(10, 11, "worker");
    state(worker, 10, ThreadState::Running, 0, 3);
    state(worker, 70, ThreadState::Exited);
    const auto a = made_.stack({"main", "a"}), b = made_.stack({"main", "b"});
    sample(worker, 20, a);
    sample(worker, 30, b);
    sample(worker, 50, a);
    const StackProfile made = profile();
    EXPECT_THAT(pieces_of(made),
                ElementsAre("10+15 main;a*20", "25+15 main;b*20", "40+30 main;a*20"));
    for (const Piece& piece : made.threads[0].pieces) {
        EXPECT_EQ(piece.cpu, 3);
        EXPECT_TRUE(piece.sampled);
        EXPECT_EQ(piece.kind, TimeKind::OnCpu);
    }
}

TEST_F(ProfileOfRecording, TimeWithoutASampleIsSharedAmongTheSamplesOfTheThread) {
    auto& worker = thread(10, 11, "worker");
    const auto a = made_.stack({"a"});
    state(worker, 0, ThreadState::Running);
    state(worker, 10, ThreadState::Blocked, made_.stack({"main", "k:ep_poll"}));
    state(worker, 20, ThreadState::Running);
    state(worker, 40, ThreadState::Exited);
    sample(worker, 30, a);
    EXPECT_THAT(pieces_of(profile()),
                ElementsAre("0+10 on CPU, not sampled*0", "10+10 main;ep_poll;blocked: events",
                            "20+20 a*30"));
    worker.samples.clear();
    EXPECT_THAT(pieces_of(profile()),
                ElementsAre("0+10 on CPU, not sampled", "10+10 main;ep_poll;blocked: events",
                            "20+20 on CPU, not sampled"));
}

TEST_F(ProfileOfRecording, AThreadWaitsForACpuWhereItWasSeen) {
    auto& worker = thread(10, 11, "worker");
    state(worker, 0, ThreadState::Runnable);
    state(worker, 10, ThreadState::Running);
    state(worker, 20, ThreadState::Runnable);
    state(worker, 30, ThreadState::Blocked, made_.stack({"b", "k:ep_poll"}));
    state(worker, 40, ThreadState::Runnable);
    state(worker, 50, ThreadState::Exited);
    sample(worker, 15, made_.stack({"a"}));
    EXPECT_THAT(pieces_of(profile()),
                ElementsAre("0+10 a;waits for a CPU", "10+10 a", "20+10 a;waits for a CPU",
                            "30+10 b;ep_poll;blocked: events", "40+10 b;ep_poll;waits for a CPU"));
}

TEST_F(ProfileOfRecording, SamplesProveThatAThreadRanWhereSwitchesWereLost) {
    auto& worker = thread(10, 11, "worker");
    state(worker, 0, ThreadState::NotRecorded);
    state(worker, 30, ThreadState::Running);
    sample(worker, 10, made_.stack({"a"}), 5);
    sample(worker, 29, made_.stack({"b"}));
    made_.recording.system.sample_interval_ns = 4 * ms;
    delay(0, 30);
    const StackProfile made = profile({.delay = 1});
    EXPECT_THAT(pieces_of(made), ElementsAre("0+10 unknown: not recorded", "10+4 a*2",
                                             "14+15 unknown: not recorded", "29+1 b*2"));
    EXPECT_EQ(made.threads[0].pieces[1].cpu, 5);
    made_.recording.end_ns = begin_ns + 30 * ms;
    EXPECT_THAT(pieces_of(profile()), ElementsAre("10+4 a*2", "29+1 b*2")) << "not of a delay";
}

TEST_F(ProfileOfRecording, PlacesAreThoseOfTheirFrames) {
    auto& worker = thread(10, 11, "worker");
    state(worker, 0, ThreadState::Running);
    sample(worker, 10, made_.stack({"!/usr/lib/libz.so!copy", "k:memcpy"}));
    analysis::Frame& frame = made_.recording.frames[0];
    frame.build_id = made_.name("abcd");
    frame.source = made_.name("/src/copy.c");
    frame.line = 17;
    frame.offset = 0x1234;
    const StackProfile made = profile();
    ASSERT_EQ(made.places.size(), 2U);
    EXPECT_EQ(made.places[0].function, "copy");
    EXPECT_EQ(made.places[0].module, "/usr/lib/libz.so");
    EXPECT_EQ(made.places[0].build_id, "abcd");
    EXPECT_EQ(made.places[0].source, "/src/copy.c");
    EXPECT_EQ(made.places[0].line, 17U);
    EXPECT_EQ(made.places[0].offset, 0x1234U);
    EXPECT_FALSE(made.places[0].kernel);
    EXPECT_TRUE(made.places[1].kernel);
}

TEST_F(ProfileOfRecording, ThreadsWithoutANameHaveTheirNumber) {
    state(thread(0, 11), 0, ThreadState::Running);
    state(thread(20, 21, "reader"), 0, ThreadState::Running);
    made_.process(20, 1);
    made_.recording.processes[20].name = made_.name("other");
    const StackProfile made = profile();
    ASSERT_EQ(made.threads.size(), 2U);
    EXPECT_EQ(made.threads[0].name, "tid 11");
    EXPECT_EQ(made.threads[0].process, "pid 0");
    EXPECT_EQ(made.threads[1].name, "reader");
    EXPECT_EQ(made.threads[1].process, "other");
    EXPECT_EQ(made.threads[1].pid, 20U);
}

TEST_F(ProfileOfRecording, ADelayKnowsItsOwnThread) {
    trace::Delay& own = delay(0, 30);
    own.process = "app";
    own.thread = "worker";
    StackProfile made = profile({.delay = 1});
    ASSERT_EQ(made.threads.size(), 1U);
    EXPECT_EQ(made.threads[0].name, "worker");
    EXPECT_EQ(made.threads[0].process, "app");
    EXPECT_EQ(made.threads[0].pid, 10U);
    EXPECT_EQ(made.title, "query, delay 1");
    // Between two threads, it is on none.
    own.end_tid = 12;
    made = profile({.delay = 1});
    ASSERT_EQ(made.threads.size(), 1U);
    EXPECT_EQ(made.threads[0].name, "no thread");
}

TEST_F(ProfileOfRecording, SaysWhenWhereAndWhatItIs) {
    auto& system = made_.recording.system;
    system.host = "db1";
    system.os_name = "Debian";
    system.kernel_release = "6.1";
    state(thread(10, 11, "worker"), 0, ThreadState::Running);
    delay(-20, 60);
    EXPECT_EQ(profile().realtime_ns, 0U);
    EXPECT_EQ(profile().sample_interval_ns, ms);
    system.started_realtime_ns = 1'700'000'000'000 * ms;
    system.started_boottime_ns = begin_ns;
    system.sample_interval_ns = 2 * ms;
    const StackProfile whole = profile(), part = profile({.delay = 1});
    EXPECT_EQ(whole.title, "recording session");
    EXPECT_EQ(whole.host, "db1");
    EXPECT_EQ(whole.system, "Debian, Linux 6.1");
    EXPECT_EQ(whole.realtime_ns, 1'700'000'000'000 * ms);
    EXPECT_EQ(whole.boottime_ns, begin_ns);
    EXPECT_EQ(whole.length_ns, 100 * ms);
    EXPECT_EQ(whole.sample_interval_ns, 2 * ms);
    EXPECT_EQ(part.realtime_ns, 1'699'999'999'980 * ms) << "before the recording";
    EXPECT_EQ(part.boottime_ns, begin_ns - 20 * ms);
    EXPECT_EQ(part.length_ns, 60 * ms);
}

TEST_F(ProfileOfRecording, RunsAndStagesAreSpans) {
    state(thread(10, 11, "worker"), 0, ThreadState::Running);
    state(thread(10, 12, "other"), 0, ThreadState::Running);
    analysis::Run run;
    run.id = 7;
    run.event = "query";
    run.begin_ns = begin_ns - 10 * ms;
    run.end_ns = begin_ns + 40 * ms;
    run.begin_pid = 10;
    run.begin_tid = 11;
    run.delay = true;
    run.stages = {{"read", begin_ns - 10 * ms, begin_ns - 5 * ms, 0},
                  {"write", begin_ns + 20 * ms, begin_ns + 40 * ms, 12}};
    made_.recording.runs = {run};
    const auto spans = profile().spans;
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].name, "query");
    EXPECT_EQ(spans[0].begin_ns, 0U);
    EXPECT_EQ(spans[0].length_ns, 40 * ms);
    EXPECT_FALSE(spans[0].stage);
    EXPECT_EQ(spans[1].name, "read");
    EXPECT_EQ(spans[1].tid, 11U);
    EXPECT_EQ(spans[1].length_ns, 0U) << "over before the recording";
    EXPECT_EQ(spans[2].tid, 12U);
    EXPECT_EQ(spans[2].begin_ns, 20 * ms);
    EXPECT_EQ(spans[2].length_ns, 20 * ms);
    EXPECT_TRUE(spans[1].stage && spans[2].stage);
    for (const Span& span : spans) {
        EXPECT_EQ(span.event, "query");
        EXPECT_EQ(span.run, 7U);
        EXPECT_EQ(span.pid, 10U);
        EXPECT_TRUE(span.delay);
    }
    EXPECT_EQ(profile({.thread = "other"}).spans.size(), 1U);
    delay(0, 40);
    EXPECT_EQ(profile({.delay = 1}).spans.size(), 3U);
    made_.recording.system.delays[0].run_id = 8;
    EXPECT_TRUE(profile({.delay = 1}).spans.empty()) << "another run";
}

TEST_F(ProfileOfRecording, SaysWhichThreadsThereAre) {
    const auto message = [&] {
        const auto made = profile_of_recording(made_.recording, {.thread = "x"});
        EXPECT_EQ(made.error().kind, ErrorKind::NotFound);
        return made.error().message;
    };
    EXPECT_EQ(message(), "nothing is known of recording session");
    for (std::uint32_t tid = 11; tid < 16; ++tid) {
        state(thread(10, tid, "t"), 0, ThreadState::Running);
        if (tid == 11) {
            EXPECT_EQ(message(), "no thread \"x\" in recording session; there is t (11)");
        }
    }
    EXPECT_EQ(message(),
              "no thread \"x\" in recording session; there are t (11), t (12), t (13), "
              "t (14), t (15)");
    state(thread(10, 16, "t"), 0, ThreadState::Running);
    EXPECT_EQ(message(),
              "no thread \"x\" in recording session; there are t (11), t (12), t (13), "
              "t (14), t (15) and 1 more");
    EXPECT_EQ(profile({.thread = "t"}).threads.size(), 6U);
    EXPECT_EQ(profile({.thread = "12"}).threads.size(), 1U);
    for (const std::size_t number : {0U, 1U}) {
        const auto made = profile_of_recording(made_.recording, {.delay = number});
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().kind, ErrorKind::NotFound);
    }
}

TEST_F(ProfileOfRecording, OnlyTheChosenTimeIsKept) {
    auto& worker = thread(10, 11, "worker");
    state(worker, 0, ThreadState::Running);
    state(worker, 10, ThreadState::Blocked, made_.stack({"main", "k:ep_poll"}));
    EXPECT_EQ(pieces_of(profile({.time = TimeChoice::OnCpu})).size(), 1U);
    EXPECT_THAT(pieces_of(profile({.time = TimeChoice::OffCpu})),
                ElementsAre("10+90 main;ep_poll;blocked: events"));
}

}  // namespace
}  // namespace lagtrap::formats::profile_of_recording_test
