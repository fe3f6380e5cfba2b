#include "trace/processes/thread_table.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::thread_table_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// CLOCK_BOOTTIME is 1000 ns ahead of CLOCK_MONOTONIC.
class Threads : public Packets {
  protected:
    static lagtrap_thread thread(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
        lagtrap_thread made{};
        made.header.at_ns = 5;
        made.pid = pid;
        made.tid = tid;
        made.parent_pid = 2;
        made.started_ns = 40 + tid;
        set_comm(made.comm, name);
        return made;
    }
    void know_process(std::uint32_t pid, std::uint32_t parent, std::string_view texts,
                      std::uint64_t at_ns = 1) {
        lagtrap_process process{};
        process.pid = pid;
        process.parent_pid = parent;
        process.uid = 1000;
        process.text_bytes = static_cast<__u32>(texts.size());
        load_rundown(spaces_, record_with(process, LAGTRAP_RECORD_PROCESS, at_ns, 0, texts));
    }
    void fork(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent_pid,
              std::uint32_t parent_tid, std::uint64_t at_ns, std::uint16_t cpu = 3) {
        threads_.take(record_with(lagtrap_task_change{{}, pid, tid, parent_pid, parent_tid},
                                  LAGTRAP_RECORD_FORK, at_ns, cpu),
                      at_ns);
    }
    void name(std::uint32_t pid, std::uint32_t tid, std::string_view comm, bool by_exec,
              std::uint64_t at_ns) {
        lagtrap_name record{};
        record.pid = pid;
        record.tid = tid;
        record.by_exec = by_exec ? 1 : 0;
        set_comm(record.comm, comm);
        threads_.take(record_with(record, LAGTRAP_RECORD_NAME, at_ns, 0), at_ns);
    }

    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    ContainerNames containers_;
    ThreadTable threads_{spaces_, writer_, 1000, containers_};
};

TEST_F(Threads, ListedOnesAreWrittenWithTheirProcesses) {
    know_process(100, 1, std::string_view("/bin/app\0app  --port 80\n", 24));
    threads_.write_initial(
        {thread(100, 100, "app"), thread(100, 101, "work\xff"), thread(200, 200, "other")}, 10);
    EXPECT_THAT(packets(),
                ElementsAre("1 1010 flags=1 process_tree{processes{pid=100 ppid=1 cmdline='app' "
                            "cmdline='--port' cmdline='80\\\\x0a' uid=1000 started=140} "
                            "processes{pid=200 ppid=0 cmdline='other' started=240} "
                            "threads{tid=100 name='app' tgid=100} "
                            "threads{tid=101 name='work\\\\xff' tgid=100} "
                            "threads{tid=200 name='other' tgid=200}}"));
    EXPECT_EQ(threads_.find(101)->pid, 100U);
    EXPECT_EQ(threads_.find(101)->generation, 0U);
    EXPECT_EQ(threads_.find(7), nullptr);
}

TEST_F(Threads, AProcessHasTheNameThatIsKnown) {
    know_process(100, 1, std::string_view("/bin/app\0", 9));
    know_process(200, 1, std::string_view("\0   ", 4));
    threads_.write_initial({thread(100, 100, "a"), thread(200, 200, "b"), thread(300, 301, "c")},
                           10);
    const std::string tree = packets().at(0);
    EXPECT_THAT(tree, HasSubstr("processes{pid=100 ppid=1 cmdline='/bin/app' "));
    EXPECT_THAT(tree, HasSubstr("processes{pid=200 ppid=1 cmdline='b' "));
    EXPECT_THAT(tree, HasSubstr("processes{pid=300 ppid=0}")) << "its first thread is not known";
}

TEST_F(Threads, KernelThreadsHaveTheirListedParent) {
    lagtrap_thread kernel = thread(7, 7, "kworker");
    kernel.is_kernel_thread = 1;
    threads_.write_initial({kernel, thread(8, 8, "app")}, 10);
    EXPECT_THAT(packets().at(0),
                AllOf(HasSubstr("processes{pid=7 ppid=2 "), HasSubstr("processes{pid=8 ppid=0 ")));
}

TEST_F(Threads, OfAMachineAreWrittenInPiecesOfAThousand) {
    std::vector<lagtrap_thread> many;
    for (std::uint32_t tid = 1; tid <= 2001; ++tid) many.push_back(thread(1, tid, "t"));
    threads_.write_initial(many, 10);
    const auto found = packets();
    ASSERT_EQ(found.size(), 3U);
    EXPECT_THAT(found[0], AllOf(HasSubstr("processes{pid=1 "), HasSubstr("tid=1000 "),
                                testing::Not(HasSubstr("tid=1001 "))));
    EXPECT_THAT(found[1], AllOf(testing::Not(HasSubstr("processes{")), HasSubstr("tid=2000 ")));
    EXPECT_EQ(found[2], "1 1010 process_tree{threads{tid=2001 name='t' tgid=1}}");
}

TEST_F(Threads, UnitsAndContainersAreLabelsOfTheProcess) {
    const std::string id(64, 'a');
    know_process(100, 1, std::string_view("/a\0a\0/system.slice/shop.service", 31));
    know_process(200, 1, std::string("/a\0a\0", 5) + "/docker/" + id);
    containers_[id] = {"web", "nginx:1.25", "", ""};
    threads_.write_initial({thread(100, 100, "a"), thread(200, 200, "b"), thread(300, 300, "c")},
                           10);
    const auto labels = packets("labels");
    ASSERT_EQ(labels.size(), 2U);
    EXPECT_EQ(labels[0],
              "2 1010 flags=1 track{uuid=4611686018427387905 process{pid=100 "
              "process_labels='shop.service'}}");
    EXPECT_THAT(labels[1],
                AllOf(testing::StartsWith("2 1010 track{uuid=4611686018427387906 process{pid=200 "),
                      HasSubstr("process_labels='container web' "),
                      HasSubstr("(docker), web, image nginx:1.25'}")));
    // Not again, unless they changed.
    name(100, 100, "new", true, 20);
    EXPECT_EQ(packets("labels").size(), 2U);
}

TEST_F(Threads, NewOnesWaitUntilAfterTheirBegin) {
    threads_.write_initial({thread(100, 100, "app")}, 10);
    fork(100, 101, 100, 100, 20);
    EXPECT_EQ(threads_.find(101)->name, "app") << "its parent's until it has its own";
    EXPECT_THAT(packets("new_task"),
                ElementsAre("19 1020 flags=1 ftrace{cpu=3 events{timestamp=1020 pid=100 "
                            "new_task{pid=101 comm='app' clone_flags=65536}}}"));
    threads_.write_pending(20);
    EXPECT_THAT(packets("tid=101"), IsEmpty());
    threads_.write_pending(21);
    EXPECT_THAT(packets("tid=101"),
                ElementsAre("1 1021 process_tree{threads{tid=101 name='app' tgid=100}}"));
    threads_.write_pending(30);
    EXPECT_EQ(packets("tid=101").size(), 1U);
}

TEST_F(Threads, NewProcessesHaveTheirParentAndBegin) {
    threads_.write_initial({thread(100, 100, "app")}, 10);
    load_rundown(spaces_, record_with(lagtrap_task_change{{}, 300, 300, 100, 100},
                                      LAGTRAP_RECORD_FORK, 20, 3));
    fork(300, 300, 100, 100, 20);
    EXPECT_THAT(packets("new_task"), ElementsAre(HasSubstr("comm='app' clone_flags=0}")));
    threads_.write_pending(25);
    EXPECT_THAT(packets("tid=300"),
                ElementsAre("1 1025 process_tree{processes{pid=300 ppid=100 cmdline='app' uid=0 "
                            "started=1020} threads{tid=300 name='app' tgid=300}}"));
    EXPECT_EQ(threads_.find(300)->generation, 0U);
}

TEST_F(Threads, ReusedNumbersAreAnotherGeneration) {
    threads_.write_initial({thread(100, 100, "app"), thread(100, 101, "old")}, 10);
    threads_.take(record_with(lagtrap_task_change{{}, 100, 101, 1, 1}, LAGTRAP_RECORD_EXIT, 15, 0),
                  15);
    EXPECT_TRUE(threads_.find(101)->exited);
    EXPECT_FALSE(threads_.find(100)->exited);
    fork(100, 101, 100, 999, 20);
    EXPECT_FALSE(threads_.find(101)->exited);
    EXPECT_EQ(threads_.find(101)->generation, 1U);
    EXPECT_EQ(threads_.find(101)->name, "") << "its parent is not known";
    // An exit of an unknown thread is none.
    threads_.take(record_with(lagtrap_task_change{{}, 1, 55, 1, 1}, LAGTRAP_RECORD_EXIT, 25, 0),
                  25);
    EXPECT_EQ(threads_.find(55), nullptr);
}

TEST_F(Threads, AProcessThatReusesANumberHasItsOwnParent) {
    know_process(300, 1, "/a");
    threads_.write_initial({thread(100, 100, "app"), thread(300, 300, "old")}, 10);
    load_rundown(spaces_, record_with(lagtrap_task_change{{}, 300, 300, 100, 100},
                                      LAGTRAP_RECORD_FORK, 20, 3));
    fork(300, 300, 100, 100, 20);
    threads_.write_pending(25);
    EXPECT_THAT(packets("pid=300 ppid="),
                ElementsAre(HasSubstr("pid=300 ppid=1 "), HasSubstr("pid=300 ppid=100 ")));
}

TEST_F(Threads, AProcessKeepsItsFirstParent) {
    know_process(100, 1, "/a");
    threads_.write_initial({thread(100, 100, "app")}, 10);
    know_process(100, 77, "/a", 15);
    name(100, 100, "app2", true, 20);
    EXPECT_THAT(packets("app2"), ElementsAre(HasSubstr("processes{pid=100 ppid=1 ")));
}

TEST_F(Threads, NamesChange) {
    threads_.write_initial({thread(100, 100, "app"), thread(100, 101, "w")}, 10);
    name(100, 101, "worker\n", false, 20);
    EXPECT_THAT(packets("worker"),
                ElementsAre("1 1020 process_tree{threads{tid=101 name='worker\\\\x0a' tgid=100}}"));
    name(0, 101, "again", false, 21);
    EXPECT_EQ(threads_.find(101)->pid, 100U);
    name(300, 101, "moved", false, 22);
    EXPECT_EQ(threads_.find(101)->pid, 300U);
    name(100, 100, "exec", true, 23);
    EXPECT_THAT(packets("'exec'"), ElementsAre(HasSubstr("processes{pid=100 ")));
}

TEST_F(Threads, ProcessesThatWereNotListedAreWrittenOnceKnown) {
    const auto process = [&](std::uint32_t pid) {
        lagtrap_process record{};
        record.pid = pid;
        threads_.take(record_with(record, LAGTRAP_RECORD_PROCESS, 20, 0), 20);
        return packets("pid=" + std::to_string(pid) + " ").size();
    };
    threads_.write_initial({thread(100, 100, "app")}, 10);
    EXPECT_EQ(process(100), 1U) << "it was listed";
    EXPECT_EQ(process(200), 0U) << "nothing refers to it";
    fork(300, 300, 100, 100, 15);
    EXPECT_EQ(process(300), 2U) << "its begin, and now itself";
}

TEST_F(Threads, ThatNobodyMentionedAreCreated) {
    threads_.write_initial({thread(100, 100, "app")}, 10);
    EXPECT_EQ(threads_.at(100, 100, 20).name, "app");
    EXPECT_EQ(packets().size(), 1U);
    EXPECT_EQ(threads_.at(201, 200, 20).name, "");
    EXPECT_EQ(threads_.at(202, 200, 21).pid, 200U);
    EXPECT_EQ(threads_.at(200, 200, 22).generation, 0U);
    EXPECT_EQ(threads_.at(201, 0, 23).pid, 200U);
    EXPECT_THAT(packets("=20"), ElementsAre("1 1020 process_tree{processes{pid=200 ppid=0} "
                                            "threads{tid=201 tgid=200}}",
                                            "1 1021 process_tree{threads{tid=202 tgid=200}}",
                                            "1 1022 process_tree{processes{pid=200 ppid=0} "
                                            "threads{tid=200 tgid=200}}"));
    // Its number belongs to another process, though no record says so.
    const ThreadState& reused = threads_.at(201, 300, 30);
    EXPECT_EQ(reused.pid, 300U);
    EXPECT_EQ(reused.generation, 1U);
    // The idle threads are in no process.
    const std::size_t before = packets().size();
    EXPECT_EQ(threads_.at(0, 0, 40).name, "");
    EXPECT_EQ(packets().size(), before);
}

TEST_F(Threads, ThatArePendingAreWrittenWhereTheyAreNeeded) {
    threads_.write_initial({thread(100, 100, "app")}, 10);
    fork(300, 300, 100, 100, 20);
    fork(100, 101, 100, 100, 20);
    EXPECT_EQ(threads_.at(300, 300, 20).name, "app");
    EXPECT_THAT(packets("tid=300"),
                ElementsAre(HasSubstr("1 1020 process_tree{processes{pid=300 ")));
    EXPECT_THAT(packets("tid=101"), IsEmpty());
}

TEST_F(Threads, AProcessIsNamedByItsFirstThreadOrProgram) {
    know_process(200, 1, "/usr/bin/other\n");
    threads_.write_initial({thread(100, 100, "app"), thread(300, 200, "stray")}, 10);
    EXPECT_EQ(threads_.process_name(100, 20), "app");
    EXPECT_EQ(threads_.process_name(200, 20), "other\\x0a") << "200 is a thread of another";
    EXPECT_EQ(threads_.process_name(400, 20), "");
}

TEST(CommText, IsPrintableUpToItsEnd) {
    char comm[LAGTRAP_COMM_BYTES];
    set_comm(comm, "sixteen letters!");
    EXPECT_EQ(comm_text(comm), "sixteen letters!");
    set_comm(comm, std::string_view("a\x1b\0b", 4));
    EXPECT_EQ(comm_text(comm), "a\\x1b");
}

}  // namespace
}  // namespace lagtrap::trace::thread_table_test
