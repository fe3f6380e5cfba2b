// Waits for the other side of a pipe, socket, queue, terminal or lease, and sleeps that look like
// waits for events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_cause.hpp"
#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::named_room_tests {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Stack = TraceBuilder::Stack;
constexpr std::uint64_t ms = TraceBuilder::ms;
const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";

// Numbers of the format.
constexpr std::uint32_t of_call = 1, lock = 3, local_peer = 8, owner = 11, pipe = 14, nothing = 15;

struct File {
    std::uint32_t kind = 0;
    std::string path;
    std::uint32_t holder_pid = 0;
    std::uint64_t socket = 0;
};

// From the beginning, thread 11 of process 10 runs on CPU 0, and 20 computes on CPU 1. 11 waits
// from 10 ms on.
TraceBuilder waiting(const Stack& stack, const File& file) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    builder.process(20, "/usr/bin/other").thread(20, 20, "other");
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 20);
    builder.samples(2 * ms, 390 * ms, 1, 20, 20, {"main", "rebuild", "burn"});
    if (file.kind != 0)
        builder.wait_file(10 * ms, 0, 11, file.kind, file.path, "", 0, file.holder_pid,
                          file.socket);
    return builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, stack);
}

// 20 ends the wait at 210 ms.
std::string sentence_of_wait(const Stack& stack, const File& file = {}) {
    TraceBuilder builder = waiting(stack, file);
    builder.waking(210 * ms, 1, 20, 11).switched(210 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    return sentences_of(builder).at(0);
}

// Nobody ends the wait.
std::string sentence_of_open_wait(TraceBuilder builder) {
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 390 * ms, 10 * ms, 10, 11));
    auto recording = builder.decode();
    if (!recording) return recording.error().message;
    trace::Delay delay = builder.system.delays.at(0);
    delay.open = true;
    delay.duration_ns = recording->end_ns - delay.begin_ns;
    return cause_sentences(causes_of_delay(*recording, delay)).at(0);
}

TEST(NamedRoom, message_queues_are_full_or_without_a_message) {
    EXPECT_THAT(sentence_of_wait({"main", "submit", libc + "mq_timedsend", "k:do_mq_timedsend",
                                  "k:wq_sleep", "k:schedule_hrtimeout_range_clock"},
                                 {.kind = of_call, .path = "/jobs"}),
                StartsWith("Waited 200 ms (99 %) to write to the full message queue /jobs in "
                           "submit (mq_timedsend), until other (20) read from it; meanwhile other "
                           "(20) computed for"));
    EXPECT_THAT(sentence_of_wait({"main", "take", libc + "mq_timedreceive", "k:do_mq_timedreceive",
                                  "k:wq_sleep"}),
                HasSubstr("for a message in a message queue in take (mq_timedreceive), until "
                          "other (20) woke it"));
    EXPECT_THAT(sentence_of_wait({"main", "submit", libc + "msgsnd", "k:do_msgsnd"}),
                HasSubstr("to write to a full message queue in submit (msgsnd)"));
}

TEST(NamedRoom, terminals_and_eventfds_can_be_full) {
    EXPECT_THAT(sentence_of_wait({"main", "print", libc + "write", "k:tty_write", "k:n_tty_write",
                                  "k:wait_woken"}),
                HasSubstr("to write to a full or paused terminal in print (write), until other "
                          "(20) read from it"));
    EXPECT_THAT(
        sentence_of_wait({"main", "notify", libc + "write", "k:vfs_write", "k:eventfd_write"}),
        HasSubstr("to write to a full eventfd in notify (write), until other (20) read from it"));
    EXPECT_THAT(sentence_of_wait({"main", "loop", libc + "read", "k:vfs_read", "k:eventfd_read"}),
                HasSubstr("for events in loop (read), until other (20) woke it"));
}

TEST(NamedRoom, a_named_pipe_is_opened_at_both_ends) {
    const Stack opening{"main",        "command",           libc + "open", "k:do_sys_openat2",
                        "k:fifo_open", "k:wait_for_partner"};
    EXPECT_THAT(sentence_of_wait(opening, {.kind = pipe, .path = "/run/app/command", .socket = 5}),
                HasSubstr("for somebody to open the other end of the pipe /run/app/command in "
                          "command (open), until other (20) opened it; meanwhile other (20)"));
    EXPECT_THAT(sentence_of_open_wait(waiting(opening, {})),
                HasSubstr("for somebody to open the other end of a pipe in command (open), which "
                          "was still going on when the recording ended"));
}

TEST(NamedRoom, a_lease_is_no_lock) {
    const Stack opening{"main", "save", libc + "open", "k:do_dentry_open", "k:__break_lease"};
    EXPECT_THAT(
        sentence_of_wait(opening, {.kind = lock, .path = "/srv/share/a", .holder_pid = 20}),
        HasSubstr("for a lease on /srv/share/a in save (open), which other (20) held; meanwhile "));
    EXPECT_THAT(sentence_of_wait(opening), HasSubstr("for a lease on a file in save (open)"));
}

TEST(NamedRoom, the_holder_of_a_file_lock_is_followed_if_it_still_has_it) {
    EXPECT_THAT(
        sentence_of_open_wait(waiting({"main", "save", libc + "fcntl", "k:fcntl_setlk"},
                                      {.kind = lock, .path = "/srv/data", .holder_pid = 20})),
        AllOf(HasSubstr("for a lock on /srv/data in save (fcntl), which other (20) holds; "
                        "meanwhile other (20) computed for"),
              HasSubstr("in burn")));
}

TEST(NamedRoom, a_supervisor_checks_system_calls) {
    EXPECT_THAT(sentence_of_wait({"main", "list", libc + "open",
                                  "k:seccomp_do_user_notification.isra.0", "k:schedule"}),
                HasSubstr("for a program that checks its system calls (seccomp) in list (open), "
                          "until other (20) woke it; meanwhile other (20) computed for"));
}

// A socket that connects has no peer yet; the file is the one that listens.
TEST(NamedRoom, the_listener_of_a_local_socket_is_followed_if_it_never_accepts) {
    TraceBuilder builder = waiting({"main", "call", libc + "connect", "k:unix_stream_connect",
                                    "k:unix_wait_for_peer", "k:schedule_timeout"},
                                   {.kind = local_peer, .path = "/run/app", .socket = 77});
    builder.wait_file(395 * ms, 0, 0, owner, "", "", 0, 20, 77);
    EXPECT_THAT(
        sentence_of_open_wait(std::move(builder)),
        HasSubstr("to connect to the local socket /run/app of other (20), whose accept queue was "
                  "full, in call (connect), which was still going on when the recording ended; "
                  "meanwhile other (20) computed for"));
}

TEST(NamedRoom, a_poll_without_files_is_a_sleep) {
    const Stack polling{"main",          "pause_a_while",
                        libc + "select", "k:core_sys_select",
                        "k:do_select",   "k:poll_schedule_timeout.constprop.0"};
    const auto sentence = [&](std::uint32_t kind) {
        TraceBuilder builder = waiting(polling, {.kind = kind});
        builder.caused_waking(210 * ms, 0, 0, 11, 2).switched(210 * ms, 0, 0, 0, 11);
        builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
        return sentences_of(builder).at(0);
    };
    EXPECT_EQ(sentence(nothing),
              "Slept 200 ms (99 %) in pause_a_while (select), until its timer expired.");
    EXPECT_EQ(sentence(0),
              "Waited 200 ms (99 %) for events in pause_a_while (select), until it timed out.");
}

// The thread slept when the recording began; another one polls files in the same place.
TEST(NamedRoom, only_waits_without_files_are_sleeps) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    const Stack polling{"main", "serve", libc + "poll", "k:do_sys_poll"};
    builder.switched(1 * ms, 1, 0, 0, 10);
    builder.off_cpu(1 * ms, 10, 11, polling).wait_file(1 * ms, 0, 11, nothing, "");
    builder.switched(10 * ms, 1, 10, 1, 0).off_cpu(10 * ms, 10, 10, polling);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 10));
    builder.run(TraceBuilder::delay(2, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto words = [&](std::size_t place) {
        return cause_sentences(causes_of_delay(*recording, builder.system.delays.at(place))).at(0);
    };
    EXPECT_THAT(words(0), AllOf(HasSubstr("for events"), Not(HasSubstr("lept"))));
    EXPECT_THAT(words(1), StartsWith("Slept 202 ms (100 %) in serve (poll)"));
}

}  // namespace
}  // namespace lagtrap::analysis::named_room_tests
