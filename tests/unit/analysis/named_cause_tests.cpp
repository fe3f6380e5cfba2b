// Causes with a specific name: a lock of the kernel or an interpreter, work of the kernel, polling
// loops, a library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::named_cause_tests {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Stack = TraceBuilder::Stack;
constexpr std::uint64_t ms = TraceBuilder::ms;

std::string first_sentence(TraceBuilder& builder) {
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    return sentences_of(builder).at(0);
}

// From the beginning, thread 11 of process 10 runs on CPU 0, and 20 of another process on CPU 1.
TraceBuilder two_programs(const std::string& other = "/usr/bin/other") {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    builder.process(20, other).thread(20, 20, other.substr(other.rfind('/') + 1));
    builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 20);
    return builder;
}

// Thread 11 waits from 10 ms until 20 wakes it at 210 ms.
TraceBuilder& waits(TraceBuilder& builder, const Stack& stack, std::uint32_t waker = 20) {
    builder.switched(10 * ms, 0, 11, 2, 0).off_cpu(10 * ms, 10, 11, stack);
    return builder.waking(210 * ms, 0, waker, 11).switched(210 * ms, 0, 0, 0, 11);
}

TEST(NamedCause, who_reads_the_memory_statistics_of_a_process_holds_its_memory_map) {
    TraceBuilder builder = two_programs("/usr/bin/cat");
    builder.samples(2 * ms, 300 * ms, 1, 20, 20,
                    {"main", "k:vfs_read", "k:show_smaps_rollup", "k:smaps_pte_range"});
    waits(builder, {"main", "grow", "k:vm_mmap_pgoff", "k:down_write_killable",
                    "k:rwsem_down_write_slowpath", "k:schedule"});
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for the process's memory map (mmap_lock) in grow, which cat "
              "(20) held; meanwhile cat (20) was reading a process's memory statistics (such as "
              "/proc/PID/smaps): it computed for 200 ms in the kernel.");
}

TEST(NamedCause, a_page_fault_waits_for_the_memory_map_too) {
    TraceBuilder builder = two_programs();
    waits(builder,
          {"main", "touch", "k:exc_page_fault", "k:rwsem_down_read_slowpath", "k:schedule"});
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("for the process's memory map (mmap_lock) in touch"));
}

TEST(NamedCause, a_lock_of_a_folder_is_none_of_the_memory_map) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "list", "k:iterate_dir", "k:down_read_killable",
                    "k:rwsem_down_read_slowpath", "k:schedule"});
    EXPECT_THAT(first_sentence(builder), HasSubstr("for a lock in the kernel in list"));
}

TEST(NamedCause, a_file_system_is_frozen_until_a_program_that_began_later_thaws_it) {
    TraceBuilder builder = two_programs();
    builder.process(30, "/usr/sbin/fsfreeze", 1, TraceBuilder::begin_ns + 205 * ms)
        .thread(30, 30, "fsfreeze");
    builder.switched(205 * ms, 2, 0, 0, 30);
    waits(builder,
          {"main", "count", "k:exc_page_fault", "k:do_page_mkwrite", "k:ext4_page_mkwrite",
           "k:percpu_rwsem_wait", "k:schedule"},
          30);
    builder.wait_file(10 * ms, 0, 11, 2, "/mnt/statistics");
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) in a page fault, to write to a mapped file of a frozen file "
              "system in count (/mnt/statistics), until fsfreeze (30) (which began 195 ms after "
              "that) thawed it.");
}

TEST(NamedCause, a_child_that_began_before_the_wait_for_it_is_not_late_because_of_an_earlier_wait) {
    TraceBuilder builder = two_programs();
    builder.process(30, "/usr/bin/reader", 10, TraceBuilder::begin_ns + 105 * ms)
        .thread(30, 30, "reader");
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "read", "k:pipe_read", "k:schedule"});
    builder.waking(25 * ms, 1, 20, 11)
        .switched(25 * ms, 0, 0, 0, 11)
        .switched(105 * ms, 2, 0, 0, 30);
    builder.switched(110 * ms, 2, 30, 1, 0);
    builder.off_cpu(110 * ms, 30, 30, {"main", "pause", "k:do_nanosleep", "k:schedule"});
    builder.switched(115 * ms, 0, 11, 1, 0)
        .off_cpu(115 * ms, 10, 11, {"main", "write", "k:pipe_write", "k:schedule"});
    builder.switched(205 * ms, 2, 0, 0, 30)
        .waking(210 * ms, 2, 30, 11)
        .switched(210 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    EXPECT_THAT(sentences_of(builder),
                testing::Contains(HasSubstr("to write to a full pipe in write, until reader (30) "
                                            "read from it; meanwhile reader (30) slept 90.0 ms")));
}

TEST(NamedCause, a_fork_that_waits_for_control_groups_waits_for_no_frozen_files) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "spawn", "k:copy_process", "k:cgroup_can_fork", "k:percpu_rwsem_wait",
                    "k:schedule"});
    EXPECT_THAT(first_sentence(builder), HasSubstr("for a lock in the kernel in spawn"));
}

TEST(NamedCause, a_kernel_worker_is_not_what_a_group_at_its_memory_limit_waits_for) {
    TraceBuilder builder = two_programs();
    builder.process(40, "kworker/1:0", 2).thread(40, 40, "kworker/1:0").unit(10, "small.service");
    waits(builder,
          {"main", "fill", "k:exc_page_fault", "k:try_to_free_mem_cgroup_pages",
           "k:reclaim_throttle", "k:schedule"},
          40);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for memory of its control group small.service in fill: it was "
              "at its limit.");
}

TEST(NamedCause, a_machine_without_memory_is_told_apart_from_a_group) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "fill", "k:exc_page_fault", "k:try_to_free_pages",
                    "k:throttle_direct_reclaim", "k:schedule"});
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for memory in fill: the machine was low on memory.");
}

TEST(NamedCause, a_child_that_ends_writes_its_core_dump) {
    TraceBuilder builder = two_programs("/usr/bin/worker");
    builder.samples(2 * ms, 300 * ms, 1, 20, 20,
                    {"main", "abort", "k:get_signal", "k:vfs_coredump", "k:elf_core_dump"});
    waits(builder, {"main", "restart", "wait4", "k:do_wait", "k:schedule"});
    EXPECT_THAT(first_sentence(builder), HasSubstr("meanwhile worker (20) was writing its core "
                                                   "dump: it computed for 200 ms in the kernel."));
}

// Python's waiting function has no name. The thread looks for the lock's holder again every 5 ms.
TEST(NamedCause, a_child_that_has_not_ended_is_followed) {
    const Stack wait4{"main", "run", "wait4", "k:__do_sys_wait4", "k:do_wait", "k:schedule"};
    const auto sentence = [](std::uint32_t children, const Stack& stack) {
        TraceBuilder builder(200 * ms, 4);
        builder.process(10, "/usr/bin/make").thread(10, 10, "make").thread(10, 11, "make");
        for (std::uint32_t child = 20; child < 20 + children; ++child)
            builder.process(child, "/usr/bin/cc1", 10).thread(child, child, "cc1");
        builder.switched(1 * ms, 0, 0, 0, 11).switched(1 * ms, 1, 0, 0, 20);
        builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, stack);
        builder.samples(2 * ms, 200 * ms, 1, 20, 20, {"main", "parse"});
        return first_sentence(builder);
    };
    EXPECT_THAT(sentence(1, wait4), HasSubstr("for a child process in wait4, which had not ended: "
                                              "cc1 (20); meanwhile cc1 (20) computed for"));
    EXPECT_THAT(sentence(2, wait4), HasSubstr("which was still going on when the recording ended"));
    // As timeout(1) does.
    EXPECT_THAT(sentence(1, {"main", "sigsuspend", "k:__x64_sys_rt_sigsuspend", "k:sigsuspend",
                             "k:schedule"}),
                HasSubstr("for a signal (such as SIGCHLD) in sigsuspend, which was still going on "
                          "when the recording ended; meanwhile cc1 (20) computed for"));
}

TEST(NamedCause, the_lock_of_an_interpreter_is_no_signal) {
    TraceBuilder builder = two_programs("/usr/bin/python3.11");
    builder.thread(20, 21, "report");
    builder.switched(2 * ms, 2, 0, 0, 21)
        .samples(3 * ms, 300 * ms, 2, 20, 21, {"!/usr/bin/python3.11!main", "encode_json"});
    const Stack stack{"!/usr/bin/python3.11!PyEval_RestoreThread", "?:/usr/bin/python3.11",
                      "!/usr/lib/x86_64-linux-gnu/libc.so.6!pthread_cond_timedwait", "k:futex_wait",
                      "k:schedule"};
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, stack);
    builder.caused_waking(15 * ms, 0, 0, 11, 2).switched(15 * ms, 0, 0, 0, 11);
    builder.switched(16 * ms, 0, 11, 1, 0).off_cpu(16 * ms, 10, 11, stack);
    builder.waking(210 * ms, 0, 21, 11).switched(210 * ms, 0, 0, 0, 11);
    EXPECT_THAT(first_sentence(builder),
                AllOf(HasSubstr("for Python's lock (GIL)"), HasSubstr("which report (21)"),
                      HasSubstr("held; meanwhile"), HasSubstr("in encode_json")));
}

TEST(NamedCause, a_condition_of_a_module_of_an_interpreter_is_a_signal) {
    TraceBuilder builder = two_programs();
    waits(builder,
          {"!/usr/bin/python3.11!_PyEval_EvalFrameDefault", "?:/usr/lib/queue.so",
           "!/usr/lib/x86_64-linux-gnu/libc.so.6!pthread_cond_wait", "k:futex_wait", "k:schedule"});
    EXPECT_THAT(first_sentence(builder), HasSubstr("for a signal from another thread"));
}

const Stack in_poll{"main", "ask", "!/usr/lib/x86_64-linux-gnu/libc.so.6!poll", "k:do_sys_poll",
                    "k:schedule"};

TEST(NamedCause, a_name_server_that_does_not_answer_has_an_address) {
    TraceBuilder builder = two_programs();
    for (const std::uint64_t from : {10 * ms, 110 * ms}) {
        builder.switched(from, 0, 11, 1, 0)
            .off_cpu(from, 10, 11, in_poll)
            .wait_file(from, 0, 11, 7, "127.0.0.1:53 (UDP)");
        builder.caused_waking(from + 99 * ms, 0, 0, 11, 2).switched(from + 99 * ms, 0, 0, 0, 11);
    }
    EXPECT_EQ(first_sentence(builder),
              "Waited 198 ms (98 %) for an answer from 127.0.0.1:53 (UDP) in ask (poll), until it "
              "timed out (2 times).");
}

TEST(NamedCause, a_connection_has_the_address_of_its_other_end) {
    TraceBuilder builder = two_programs("/usr/bin/postgres");
    waits(builder, {"main", "query", "recv", "k:tcp_recvmsg", "k:schedule"})
        .wait_file(10 * ms, 0, 11, 5, "10.0.0.7:5432");
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("on a connection to 10.0.0.7:5432 in recv, until postgres (20) woke it"));
}

// What asked the kernel for such work counts; functions of the kernel do not.
TEST(NamedCause, work_of_the_kernel_has_words_and_a_caller) {
    const auto sentence = [](const Stack& stack) {
        TraceBuilder builder = two_programs();
        builder.samples(2 * ms, 300 * ms, 0, 10, 11, stack);
        return first_sentence(builder);
    };
    EXPECT_THAT(sentence({"main", "count", "k:asm_exc_page_fault", "k:exc_page_fault",
                          "k:wp_page_copy", "k:copy_page"}),
                HasSubstr("in page faults of the kernel, called by count, copying pages that it "
                          "had shared (copy on write)."));
    EXPECT_THAT(
        sentence(
            {"main", "free_cache", "k:__x64_sys_munmap", "k:do_vmi_munmap", "k:zap_pte_range"}),
        HasSubstr("in the kernel, called by free_cache, giving memory back (such as munmap)."));
    TraceBuilder builder = two_programs();
    builder.samples(2 * ms, 300 * ms, 1, 20, 20,
                    {"main", "list", "k:iterate_dir", "k:ext4_readdir"});
    waits(builder, {"main", "create", "k:path_openat", "k:down_write",
                    "k:rwsem_down_write_slowpath", "k:schedule"});
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("meanwhile other (20) was reading a folder: it computed for 200 ms in "
                          "the kernel, called by list."));
}

TEST(NamedCause, a_local_socket_with_a_full_accept_queue_is_said_to_have_one) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "call", "connect", "k:unix_stream_connect", "k:unix_wait_for_peer",
                    "k:schedule"});
    builder.wait_file(10 * ms, 0, 11, 8, "/run/app");
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("to connect to the local socket /run/app, whose accept queue was full, "
                          "in connect, until other (20) accepted another"));
}

// The window is opened by a packet that a timer of the other side has sent.
TEST(NamedCause, whoever_does_not_read_holds_up_the_sender) {
    TraceBuilder builder = two_programs("/usr/bin/reader");
    builder.samples(2 * ms, 300 * ms, 1, 20, 20, {"main", "sort_rows"});
    builder.switched(10 * ms, 0, 11, 1, 0);
    builder.off_cpu(10 * ms, 10, 11,
                    {"main", "answer", "send", "k:sk_stream_wait_memory", "k:schedule"});
    builder.wait_file(10 * ms, 0, 11, 5, "10.0.0.7:5432", "", 0, 0, 77);
    builder.wait_file(390 * ms, 1, 0, 11, "10.0.0.7:5432", "", 0, 20, 77);
    builder.caused_waking(210 * ms, 0, 0, 11, 8, "lo").switched(210 * ms, 0, 0, 0, 11);
    EXPECT_THAT(
        first_sentence(builder),
        AllOf(HasSubstr("to send to 10.0.0.7:5432, which had not read what was sent before, in "
                        "send, until reader (20) read from it; meanwhile reader (20) computed for"),
              HasSubstr("in sort_rows")));
}

TEST(NamedCause, a_local_socket_has_the_path_of_its_other_end) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "call", "recvmsg", "k:unix_stream_read_generic", "k:schedule"});
    builder.wait_file(10 * ms, 0, 11, 8, "/run/dbus/system_bus_socket");
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("on the local socket /run/dbus/system_bus_socket in recvmsg"));
}

TEST(NamedCause, a_listener_that_does_not_answer_has_the_syn_sent_again) {
    TraceBuilder builder = two_programs();
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "connect", "k:inet_stream_connect", "k:schedule"});
    builder.wait_file(10 * ms, 0, 11, 6, "127.0.0.1:80")
        .wait_file(60 * ms, 0, 0, 9, "127.0.0.1:80");
    builder.caused_waking(210 * ms, 0, 0, 11, 4, "lo").switched(210 * ms, 0, 0, 0, 11);
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("to connect to 127.0.0.1:80, which did not answer, so the SYN was sent "
                          "again, in connect"));
}

// Thread 11 connects from 10 ms to 210 ms, with socket 77, while thread 20 has the CPU.
TraceBuilder connecting() {
    TraceBuilder builder = two_programs("/usr/bin/server");
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "connect", "k:inet_stream_connect", "k:schedule"});
    builder.wait_file(10 * ms, 0, 11, 6, "127.0.0.1:80", "", 0, 0, 77);
    builder.wait_file(60 * ms, 0, 0, 9, "127.0.0.1:80", "", 0, 0, 77);
    builder.caused_waking(210 * ms, 0, 0, 11, 4, "lo").switched(210 * ms, 0, 0, 0, 11);
    builder.samples(2 * ms, 390 * ms, 1, 20, 20, {"main", "serve", "encode"});
    return builder;
}

TEST(NamedCause, a_listener_without_room_is_named_with_what_it_does) {
    TraceBuilder builder = connecting();
    builder.wait_file(390 * ms, 1, 0, 13, "127.0.0.1:80", "", 0, 20, 77);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) to connect to 127.0.0.1:80 in connect: the accept queue of "
              "server (20), which listens there, was full, so the SYN was sent again; meanwhile "
              "server (20) computed for 200 ms in encode, called by serve.");
}

// It is idle when it should accept the connection, and the other one is busy.
TEST(NamedCause, of_a_listeners_threads_the_one_that_accepts_is_waited_for) {
    TraceBuilder builder = connecting();
    builder.thread(20, 21, "acceptor");
    builder.switched(2 * ms, 2, 0, 0, 21).switched(300 * ms, 2, 21, 1, 0);
    builder.samples(3 * ms, 300 * ms, 2, 20, 21, {"clone3", "take", "log_line"});
    builder.off_cpu(300 * ms, 20, 21,
                    {"clone3", "take", "accept", "k:inet_csk_accept", "k:schedule"});
    builder.wait_file(390 * ms, 1, 0, 13, "127.0.0.1:80", "", 0, 20, 77);
    EXPECT_THAT(
        first_sentence(builder),
        HasSubstr("; meanwhile acceptor (21) of server (20) computed for 200 ms in log_line"));
}

TEST(NamedCause, a_listener_with_room_is_named_and_not_blamed) {
    TraceBuilder builder = connecting();
    builder.wait_file(390 * ms, 1, 0, 12, "127.0.0.1:80", "", 0, 20, 77);
    EXPECT_THAT(first_sentence(builder),
                AllOf(HasSubstr("to connect to server (20) at 127.0.0.1:80, which did not answer, "
                                "so the SYN was sent again, in connect"),
                      Not(HasSubstr("accept queue")), Not(HasSubstr("meanwhile"))));
}

TEST(NamedCause, the_syn_of_another_connection_to_the_same_listener_is_none_of_it) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "connect", "k:inet_stream_connect", "k:schedule"})
        .wait_file(10 * ms, 0, 11, 6, "127.0.0.1:80", "", 0, 0, 77);
    builder.wait_file(60 * ms, 0, 0, 9, "127.0.0.1:80", "", 0, 0, 78);
    EXPECT_THAT(first_sentence(builder), HasSubstr("to connect to 127.0.0.1:80 in connect"));
}

TEST(NamedCause, who_is_at_the_other_end_of_a_connection_is_named_where_nobody_else_is) {
    TraceBuilder builder = two_programs("/usr/bin/server");
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, in_poll)
        .wait_file(10 * ms, 0, 11, 5, "127.0.0.1:8000", "", 0, 0, 77);
    builder.caused_waking(210 * ms, 0, 0, 11, 8, "lo").switched(210 * ms, 0, 0, 0, 11);
    builder.wait_file(390 * ms, 1, 0, 11, "127.0.0.1:8000", "", 0, 20, 77);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for an answer from server (20) at 127.0.0.1:8000 in ask "
              "(poll), until TCP's delayed ACK let the other side send what it had held back "
              "(without TCP_NODELAY).");
}

TEST(NamedCause, who_ended_the_wait_for_its_connection_is_named_once) {
    TraceBuilder builder = two_programs("/usr/bin/postgres");
    waits(builder, {"main", "query", "recv", "k:tcp_recvmsg", "k:schedule"})
        .wait_file(10 * ms, 0, 11, 5, "10.0.0.7:5432", "", 0, 0, 77);
    builder.wait_file(390 * ms, 1, 0, 11, "10.0.0.7:5432", "", 0, 20, 77);
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("on a connection to 10.0.0.7:5432 in recv, until postgres (20) woke it"));
}

TEST(NamedCause, a_local_socket_without_a_path_has_its_other_end) {
    TraceBuilder builder = two_programs("/usr/bin/worker");
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11,
                 {"main", "call", "recvmsg", "k:unix_stream_read_generic", "k:schedule"})
        .wait_file(10 * ms, 0, 11, 8, "", "", 0, 0, 77);
    builder.caused_waking(210 * ms, 0, 0, 11, 2).switched(210 * ms, 0, 0, 0, 11);
    builder.wait_file(390 * ms, 1, 0, 11, "", "", 0, 20, 77);
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("on a local socket of worker (20) in recvmsg, until it timed out"));
}

TEST(NamedCause, processes_of_several_names_at_one_end_are_not_guessed_among) {
    TraceBuilder builder = two_programs("/usr/bin/server");
    builder.process(30, "/usr/bin/helper").thread(30, 30, "helper");
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, in_poll)
        .wait_file(10 * ms, 0, 11, 5, "127.0.0.1:8000", "", 0, 0, 77);
    builder.caused_waking(210 * ms, 0, 0, 11, 2).switched(210 * ms, 0, 0, 0, 11);
    builder.wait_file(390 * ms, 1, 0, 11, "127.0.0.1:8000", "", 0, 20, 77);
    builder.wait_file(390 * ms, 1, 0, 11, "127.0.0.1:8000", "", 0, 30, 77);
    EXPECT_THAT(first_sentence(builder), HasSubstr("on a connection to 127.0.0.1:8000 in ask"));
}

constexpr std::uint64_t mib = 1 << 20;

// Thread 11 waits for the disk loop0 from 10 ms to 210 ms, while loop0 writes 300 MiB of a file.
TraceBuilder syncing() {
    TraceBuilder builder = two_programs("/usr/bin/backup");
    builder.written(5 * ms, 7, 20 * mib, "/big", "loop0")
        .written(200 * ms, 7, 320 * mib, "/big", "loop0");
    builder.written(200 * ms, 8, 10 * mib, "/small", "loop0")
        .written(200 * ms, 9, 900 * mib, "/other", "vda");
    builder.switched(10 * ms, 0, 11, 2, 0)
        .off_cpu(10 * ms, 10, 11,
                 {"main", "save", "fsync", "k:do_fsync", "k:io_schedule", "k:schedule"});
    builder.caused_waking(210 * ms, 0, 0, 11, 5, "loop0").switched(210 * ms, 0, 0, 0, 11);
    return builder;
}

TEST(NamedCause, whose_data_the_disk_wrote_is_told_by_who_has_the_file_open) {
    TraceBuilder builder = syncing();
    builder.writer(7, 20).ended_writer(1 * ms, 30, "dd", 700 * mib);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for the disk in fsync (loop0); meanwhile loop0 wrote 310.0 "
              "MiB, mostly of /big, which backup (20) has open for writing.");
}

TEST(NamedCause, whose_data_the_disk_wrote_may_be_of_a_process_that_has_ended) {
    TraceBuilder builder = syncing();
    builder.writer(8, 20)
        .ended_writer(1 * ms, 30, "dd", 700 * mib)
        .ended_writer(2 * ms, 31, "cp", 100 * mib);
    EXPECT_THAT(
        first_sentence(builder),
        HasSubstr(
            "wrote 310.0 MiB, mostly of /big; dd (30), which has ended, had written 700.0 MiB."));
}

TEST(NamedCause, a_process_that_wrote_much_less_than_the_disk_is_not_named) {
    TraceBuilder builder = syncing();
    builder.ended_writer(1 * ms, 30, "dd", 100 * mib);
    EXPECT_THAT(first_sentence(builder), AllOf(HasSubstr("mostly of /big"), Not(HasSubstr("dd"))));
}

TEST(NamedCause, what_a_program_waits_for_may_be_its_own_data) {
    TraceBuilder builder = syncing();
    builder.writer(7, 10);
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("mostly of /big, which it has open for writing itself."));
}

TEST(NamedCause, a_group_at_its_memory_limit_says_what_fills_it) {
    TraceBuilder builder = two_programs("/usr/bin/dd");
    builder.group_memory(10, "/small", 80 * mib, 74 * mib, 5 * mib, 20, 1200 * mib);
    waits(builder, {"main", "fill", "k:exc_page_fault", "k:try_to_free_mem_cgroup_pages",
                    "k:reclaim_throttle", "k:schedule"});
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for memory of its control group /small in fill: it was at its "
              "limit of 80.0 MiB, most of it used by cached files (74.0 MiB); dd (20) has read and "
              "written the most (1.17 GiB).");
}

TEST(NamedCause, a_pause_of_what_frees_memory_ends_no_wait) {
    TraceBuilder builder = two_programs();
    const Stack stack{"main", "fill", "k:try_to_free_mem_cgroup_pages", "k:reclaim_throttle",
                      "k:schedule"};
    builder.switched(10 * ms, 0, 11, 2, 0).off_cpu(10 * ms, 10, 11, stack);
    builder.caused_waking(210 * ms, 0, 0, 11, 2).switched(210 * ms, 0, 0, 0, 11);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for memory of its control group in fill: it was at its limit.");
}

// Both are requests, but the one that waits is not the one being processed.
TEST(NamedCause, who_is_waited_for_may_be_busy_with_a_run_of_its_own) {
    TraceBuilder builder = two_programs("/usr/bin/server");
    builder.samples(2 * ms, 300 * ms, 1, 20, 20, {"main", "serve", "sort_rows"});
    builder.run(TraceBuilder::delay(2, "request", 3 * ms, 290 * ms, 10 * ms, 20, 20), false);
    builder.run(TraceBuilder::delay(3, "request", 1 * ms, 8 * ms, 10 * ms, 20, 20), false);
    waits(builder, {"main", "ask", "MDL_wait::timed_wait", "pthread_cond_timedwait", "k:futex_wait",
                    "k:schedule"});
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("which server (20) held; meanwhile server (20), in a run of \"request\" "
                          "that took 290 ms, computed for 200 ms in sort_rows"));
}

TEST(NamedCause, a_thread_that_is_stopped_waits_for_nothing) {
    TraceBuilder builder = two_programs("/usr/bin/debugger");
    waits(builder, {"main", "transform", "k:do_signal_stop", "k:schedule"});
    EXPECT_THAT(first_sentence(builder),
                HasSubstr("Was stopped by a signal for 200 ms (99 %) in transform, until"));
}

TEST(NamedCause, who_waits_to_try_again_was_refused) {
    TraceBuilder builder = two_programs();
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, {"main", "run_poll_loop", "k:ep_poll", "k:schedule"});
    builder.caused_waking(210 * ms, 0, 0, 11, 2).switched(210 * ms, 0, 0, 0, 11);
    builder.wait_file(9 * ms, 0, 11, 10, "127.0.0.1:7784")
        .wait_file(9 * ms, 0, 20, 10, "127.0.0.1:9");
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for events in run_poll_loop, until it timed out; meanwhile its "
              "connection to 127.0.0.1:7784 was refused.");
}

TEST(NamedCause, another_listener_is_none_of_it) {
    TraceBuilder builder = two_programs();
    waits(builder, {"main", "connect", "k:inet_stream_connect", "k:schedule"})
        .wait_file(10 * ms, 0, 11, 6, "127.0.0.1:80");
    builder.wait_file(60 * ms, 0, 0, 9, "127.0.0.1:81");
    EXPECT_THAT(first_sentence(builder), HasSubstr("to connect to 127.0.0.1:80 in connect"));
}

TEST(NamedCause, an_ack_that_was_delayed_held_the_answer_back) {
    TraceBuilder builder = two_programs();
    builder.switched(10 * ms, 0, 11, 1, 0)
        .off_cpu(10 * ms, 10, 11, in_poll)
        .wait_file(10 * ms, 0, 11, 5, "127.0.0.1:8000");
    builder.caused_waking(210 * ms, 0, 0, 11, 8, "lo").switched(210 * ms, 0, 0, 0, 11);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) on a connection to 127.0.0.1:8000 in ask (poll), until TCP's "
              "delayed ACK let the other side send what it had held back (without TCP_NODELAY).");
}

TEST(NamedCause, a_thread_of_the_same_process_that_has_the_cpu_has_a_name) {
    TraceBuilder builder = two_programs();
    builder.thread(10, 12, "video");
    builder.switched(10 * ms, 0, 11, 0, 12, 79)
        .samples(10 * ms, 210 * ms, 0, 10, 12, {"clone3", "play", "decode_frame"});
    builder.switched(210 * ms, 0, 12, 1, 11);
    EXPECT_EQ(first_sentence(builder),
              "Waited 200 ms (99 %) for a CPU while video (12, of its own process, real-time "
              "priority 20) had CPU 0, in decode_frame, called by play.");
}

TEST(NamedCause, who_yields_over_and_over_waits_for_whoever_leaves_a_function_then) {
    TraceBuilder builder = two_programs();
    builder.thread(10, 12, "low");
    const Stack taking{"main", "request", "take",
                       "!/usr/lib/x86_64-linux-gnu/libc.so.6!sched_yield",
                       "k:__do_sys_sched_yield"};
    builder.samples(10 * ms, 210 * ms, 0, 10, 11, taking)
        .samples(210 * ms, 300 * ms, 0, 10, 11, {"main", "rest"});
    builder.switched(2 * ms, 2, 0, 0, 12)
        .samples(2 * ms, 210 * ms, 2, 10, 12, {"clone3", "run", "compact"});
    builder.samples(210 * ms, 300 * ms, 2, 10, 12, {"clone3", "run", "idle"});
    EXPECT_THAT(
        first_sentence(builder),
        AllOf(
            HasSubstr("Spun for 200 ms"), HasSubstr("in take, calling sched_yield over and over"),
            HasSubstr(
                "probably for a lock that low (12) held in compact; meanwhile low (12) computed")));
}

TEST(NamedCause, one_yield_is_no_spinning) {
    TraceBuilder builder = two_programs();
    builder.samples(10 * ms, 11 * ms, 0, 10, 11,
                    {"main", "take", "sched_yield", "k:__do_sys_sched_yield"});
    builder.samples(11 * ms, 210 * ms, 0, 10, 11, {"main", "encode"});
    EXPECT_EQ(first_sentence(builder), "Computed for 202 ms (100 %) in encode.");
}

// Each function of the library has only a little time, and its caller only passes the work on.
TEST(NamedCause, a_library_that_does_all_of_the_work_is_named) {
    TraceBuilder builder = two_programs();
    const auto stack = [](const std::string& function) {
        return Stack{"main", "compile_expression", "!/usr/lib/llvmjit.so!emit",
                     "!/usr/lib/libLLVM-14.so.1!" + function};
    };
    for (std::uint64_t i = 0; i < 4; ++i)
        builder.samples((10 + 50 * i) * ms, (60 + 50 * i) * ms, 0, 10, 11,
                        stack("pass_" + std::to_string(i)));
    EXPECT_THAT(first_sentence(builder), HasSubstr("in LLVM's JIT compiler (libLLVM-14)"));
}

TEST(NamedCause, a_function_that_does_more_than_call_a_library_says_more) {
    TraceBuilder builder = two_programs();
    const std::string library = "!/usr/lib/libcrypto.so.3!";
    builder.samples(10 * ms, 70 * ms, 0, 10, 11,
                    {"main", "hash_all", "begin_hash", library + "fetch"});
    builder.samples(70 * ms, 140 * ms, 0, 10, 11,
                    {"main", "hash_all", "end_hash", library + "final"});
    builder.samples(140 * ms, 210 * ms, 0, 10, 11, {"main", "hash_all", "copy_input"});
    EXPECT_THAT(first_sentence(builder), HasSubstr("in hash_all ("));
}

}  // namespace
}  // namespace lagtrap::analysis::named_cause_tests
