// Waits that a thread ended from outside: by a signal, by killing, resuming or thawing whoever
// waits.
#include "analysis/interruptions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::interruptions_test {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Stack = TraceBuilder::Stack;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint32_t by_signal = 9, killed = 10;  // causes of wakeups
const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";

// From the beginning, thread 11 of process 10 runs on CPU 0, and timeout (20), which sleeps from 2
// ms until 210 ms, on CPU 1.
TraceBuilder two_programs() {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "worker")
        .thread(10, 12, "compactor");
    builder.process(20, "/usr/bin/timeout").thread(20, 20, "timeout");
    builder.switched(1 * ms, 0, 0, 0, 11)
        .switched(1 * ms, 1, 0, 0, 20)
        .switched(2 * ms, 1, 20, 1, 0);
    builder.off_cpu(2 * ms, 20, 20,
                    {"main", "pause", libc + "nanosleep", "k:do_nanosleep", "k:schedule"});
    return builder.caused_waking(210 * ms, 1, 0, 20, 2).switched(210 * ms, 1, 0, 0, 20);
}

std::string first_sentence(TraceBuilder& builder, std::uint64_t duration = 203 * ms) {
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, duration, 10 * ms, 10, 11));
    return sentences_of(builder).at(0);
}

// Thread 11 waits from 10 ms until 20 wakes it at 211 ms.
TraceBuilder& waits(TraceBuilder& builder, const Stack& stack, std::uint32_t cause,
                    std::uint64_t lock = 0, std::uint32_t owner = 0) {
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, stack, lock, owner);
    return builder.caused_waking(211 * ms, 1, 20, 11, cause).switched(211 * ms, 0, 0, 0, 11);
}

TEST(Interruptions, whoever_kills_a_waiting_process_did_not_hold_it_up) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "ask", libc + "read", "k:pipe_read", "k:schedule"}, killed);
    EXPECT_EQ(first_sentence(builder),
              "Waited 201 ms (99 %) on a pipe in ask (read), until timeout (20) killed it.");
}

TEST(Interruptions, the_holder_of_a_lock_held_up_whoever_was_killed) {
    TraceBuilder builder = two_programs();
    builder.switched(2 * ms, 2, 0, 0, 12).samples(3 * ms, 300 * ms, 2, 10, 12, {"compact"});
    waits(builder, {"main", "take", libc + "pthread_mutex_lock", "k:futex_wait", "k:schedule"},
          killed, 7, 12);
    EXPECT_THAT(
        first_sentence(builder),
        AllOf(HasSubstr("for a lock in take (pthread_mutex_lock), which compactor (12) held, until "
                        "timeout (20) killed it; meanwhile compactor (12) computed for"),
              HasSubstr("in compact")));
}

TEST(Interruptions, who_sends_a_signal_did_not_hold_up_whoever_was_waiting) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "ask", libc + "read", "k:pipe_read", "k:schedule"}, by_signal);
    EXPECT_THAT(first_sentence(builder),
                EndsWith("on a pipe in ask (read), until timeout (20) sent it a signal."));
}

TEST(Interruptions, a_signal_may_be_what_is_waited_for) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "wait_for_child", libc + "sigsuspend", "k:sigsuspend", "k:schedule"},
          by_signal);
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("until timeout (20) woke it; meanwhile timeout (20) slept"));
}

TEST(Interruptions, whoever_resumes_or_thaws_a_thread_did_not_hold_it_up) {
    TraceBuilder stopped = two_programs();
    waits(stopped, {"main", "work", "k:do_signal_stop", "k:schedule"}, 1);
    EXPECT_EQ(first_sentence(stopped),
              "Was stopped by a signal for 201 ms (99 %) in work, until timeout (20) resumed it.");
    TraceBuilder frozen = two_programs();
    waits(frozen, {"main", "work", "k:do_freezer_trap", "k:schedule"}, 1);
    EXPECT_EQ(first_sentence(frozen),
              "Was frozen for 201 ms (99 %) in work, until timeout (20) thawed it.");
}

// `stopper` stops process 10 at 60 ms, while thread 11 waits for 12, and 20 resumes it at 121 ms.
std::vector<std::string> sentences_about_stop(std::uint32_t stopper, const std::string& where) {
    TraceBuilder builder = two_programs();
    builder.process(30, "/usr/bin/gdb").thread(30, 30, "gdb");
    const Stack waiting{"main", "ask", libc + "read", "k:pipe_read", "k:schedule"};
    builder.switched(2 * ms, 2, 0, 0, 12).samples(3 * ms, 300 * ms, 2, 10, 12, {"compact"});
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, waiting);
    builder.caused_waking(60 * ms, 1, stopper, 11, by_signal).switched(60 * ms, 0, 0, 0, 11);
    builder.switched(61 * ms, 0, 11, 4, 0)
        .off_cpu(61 * ms, 10, 11, {"main", "ask", where, "k:schedule"});
    builder.caused_waking(121 * ms, 1, 20, 11, 1).switched(121 * ms, 0, 0, 0, 11);
    builder.switched(122 * ms, 0, 11, 1, 0).off_cpu(122 * ms, 10, 11, waiting);
    builder.caused_waking(211 * ms, 2, 12, 11, 1).switched(211 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 203 * ms, 10 * ms, 10, 11));
    return sentences_of(builder);
}

TEST(Interruptions, a_wait_goes_on_after_a_stop) {
    EXPECT_THAT(sentences_about_stop(20, "k:do_signal_stop").at(0),
                AllOf(HasSubstr("on a pipe in ask (read), until compactor (12) woke it; meanwhile"),
                      Not(HasSubstr("timeout"))));
}

TEST(Interruptions, a_stop_belongs_to_whoever_began_it) {
    EXPECT_EQ(sentences_about_stop(20, "k:do_signal_stop").at(1),
              "Was stopped by a signal for 60.0 ms (30 %) in ask, until timeout (20), which had "
              "stopped it, resumed it.");
    EXPECT_EQ(sentences_about_stop(30, "k:do_signal_stop").at(1),
              "Was stopped by a signal of gdb (30) for 60.0 ms (30 %) in ask, until timeout (20) "
              "resumed it.");
    EXPECT_EQ(sentences_about_stop(30, "k:do_freezer_trap").at(1),
              "Was frozen by gdb (30) for 60.0 ms (30 %) in ask, until timeout (20) thawed it.");
}

TEST(Interruptions, WhoeverCutASleepShortWasNotWaitedFor) {
    TraceBuilder builder = two_programs();
    builder.switched(3 * ms, 2, 0, 0, 12)
        .samples(3 * ms, 200 * ms, 2, 10, 12, {"clone3", "start_thread", "attach_everywhere"});
    builder.switched(20 * ms, 0, 11, 1, 0)
        .off_cpu(20 * ms, 10, 11, {"nap", libc + "nanosleep", "k:do_nanosleep", "k:schedule"});
    builder.waking(150 * ms, 2, 12, 11).switched(150 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 20 * ms, 140 * ms, 10 * ms, 10, 11));
    EXPECT_THAT(sentences_of(builder).at(0),
                AllOf(HasSubstr("Slept 130 ms"), Not(HasSubstr("attach_everywhere"))));
}

}  // namespace
}  // namespace lagtrap::analysis::interruptions_test
