#include "daemon/capture/code_rundown.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "daemon/processes/process_scan.hpp"

namespace lagtrap::daemon::code_rundown_test {
namespace {

// A real process that does something, reports that it is done, and waits to be ended.
class Child {
  public:
    explicit Child(const std::function<void()>& work, unsigned long namespaces = 0) {
        int pipe[2];
        if (::pipe2(pipe, O_CLOEXEC) != 0) return;
        pid_ = static_cast<pid_t>(
            ::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
        if (pid_ == 0) {
            work();
            (void)!::write(pipe[1], "x", 1);
            ::pause();
            ::_exit(0);
        }
        ::close(pipe[1]);
        char done = 0;
        ready_ = pid_ > 0 && ::read(pipe[0], &done, 1) == 1;
        ::close(pipe[0]);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() { end(); }

    void end() {
        if (pid_ <= 0 || ended_) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ended_ = true;
    }
    [[nodiscard]] bool ready() const { return ready_; }
    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    [[nodiscard]] std::filesystem::path map() const {
        return "/tmp/perf-" + std::to_string(pid_) + ".map";
    }

  private:
    pid_t pid_ = -1;
    bool ready_ = false;
    bool ended_ = false;
};

void write(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path) << content;
}

void write_own_map(const std::string& content) {
    write("/tmp/perf-" + std::to_string(::getpid()) + ".map", content);
}

class CodeRundownTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "lagtrap-rundown-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        rundown_.emplace(folder_);
    }
    void TearDown() override {
        std::filesystem::remove_all(folder_);
        for (const auto& path : made_) std::filesystem::remove_all(path);
    }
    // Removes what a child leaves in /tmp.
    void clean_up(const Child& child) { made_.push_back(child.map()); }

    void seen(std::uint32_t pid, const std::string& path = "//anon") {
        RecordBuffer records;
        lagtrap_mapping mapping{};
        mapping.header = {0, LAGTRAP_RECORD_MAPPING, 0, monotonic_ns()};
        mapping.pid = pid;
        mapping.start = 0x1000;
        mapping.length = 0x1000;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        records.append(&mapping, sizeof(mapping), path);
        records.for_each([&](const lagtrap_record* record) { rundown_->take(record); });
    }
    void exited(std::uint32_t pid, std::uint32_t tid) {
        lagtrap_task_change change{};
        change.header = {sizeof(change), LAGTRAP_RECORD_EXIT, 0, monotonic_ns()};
        change.pid = pid;
        change.tid = tid;
        rundown_->take(&change.header);
    }
    void began_program(std::uint32_t pid, std::uint64_t at_ns) {
        lagtrap_name name{};
        name.header = {sizeof(name), LAGTRAP_RECORD_NAME, 0, at_ns};
        name.pid = name.tid = pid;
        name.by_exec = 1;
        rundown_->take(&name.header);
    }
    // Contents of the copies of one process, oldest first.
    std::vector<std::string> copies(std::uint32_t pid,
                                    trace::CodeFileKind kind = trace::CodeFileKind::PerfMap) {
        std::map<std::uint64_t, std::string> found;
        if (std::filesystem::exists(folder_ / "code"))
            for (const auto& entry : std::filesystem::directory_iterator(folder_ / "code")) {
                const auto name = trace::parse_code_file_name(entry.path().filename().string());
                EXPECT_TRUE(name) << entry.path();
                if (!name || name->pid != pid || name->kind != kind) continue;
                EXPECT_LE(name->at_ns, monotonic_ns());
                found[name->at_ns] = read_file(entry.path(), 1 << 20).value();
            }
        std::vector<std::string> contents;
        for (const auto& [at_ns, content] : found) contents.push_back(content);
        return contents;
    }
    using Texts = std::vector<std::string>;

    std::filesystem::path folder_;
    std::vector<std::filesystem::path> made_;
    std::optional<CodeRundown> rundown_;
};

TEST_F(CodeRundownTest, CopiesTheMapAtTheEnd) {
    const Child child([] { write_own_map("1000 10 one\n"); });
    ASSERT_TRUE(child.ready());
    clean_up(child);
    seen(child.pid());
    std::ofstream(child.map(), std::ios::app) << "1010 10 two, made after it was seen\n";
    rundown_->finish();
    EXPECT_EQ(copies(child.pid()), Texts{"1000 10 one\n1010 10 two, made after it was seen\n"});
    EXPECT_EQ(rundown_->counts().files, 1U);
    EXPECT_EQ(rundown_->counts().bytes, 48U);
    EXPECT_EQ(rundown_->counts().lost(), 0U);
}

TEST_F(CodeRundownTest, CopiesTheMapOfAProcessThatHasEnded) {
    Child child([] {});
    ASSERT_TRUE(child.ready());
    clean_up(child);
    seen(child.pid());
    write(child.map(), "1000 10 one\n");
    child.end();
    exited(child.pid(), child.pid() + 1);  // another thread
    EXPECT_EQ(copies(child.pid()), Texts{});
    exited(child.pid(), child.pid());
    EXPECT_EQ(copies(child.pid()), Texts{"1000 10 one\n"});
    rundown_->finish();
    EXPECT_EQ(rundown_->counts().files, 1U);
}

TEST_F(CodeRundownTest, CopiesTheMapOfEachProgramOfAProcess) {
    const Child child([] { write_own_map("1000 10 of the first\n"); });
    ASSERT_TRUE(child.ready());
    clean_up(child);
    seen(child.pid());
    began_program(child.pid(), 1);  // before that mapping, but reported late
    EXPECT_EQ(copies(child.pid()), Texts{});
    began_program(child.pid(), monotonic_ns());
    write(child.map(), "1000 10 of the second\n");
    seen(child.pid());
    rundown_->finish();
    EXPECT_EQ(copies(child.pid()), (Texts{"1000 10 of the first\n", "1000 10 of the second\n"}));
}

TEST_F(CodeRundownTest, FollowsNobodyWithoutCodeOfItsOwn) {
    const Child child([] { write_own_map("1000 10 one\n"); });
    ASSERT_TRUE(child.ready());
    clean_up(child);
    seen(child.pid(), "/usr/lib/libc.so.6");
    seen(child.pid(), "[vdso]");
    rundown_->finish();
    EXPECT_EQ(copies(child.pid()), Texts{});
    EXPECT_EQ(rundown_->counts().lost(), 0U);
}

// The process scan reports the mapping, as in a capture.
TEST_F(CodeRundownTest, CopiesAJitdumpThoughItIsDeleted) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may open what other processes have mapped";
    const auto dump = folder_ / "jit-77.dump";
    Child child([&] {
        write(dump, "not looked at");
        const int fd = ::open(dump.c_str(), O_RDONLY);
        if (::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            ::_exit(1);
    });
    ASSERT_TRUE(child.ready());
    ProcessScan scan;
    scan.add(child.pid());
    scan.records().for_each([&](const lagtrap_record* record) { rundown_->take(record); });
    std::filesystem::remove(dump);
    child.end();
    exited(child.pid(), child.pid());
    EXPECT_EQ(copies(child.pid(), trace::CodeFileKind::Jitdump), Texts{"not looked at"});
    EXPECT_EQ(rundown_->counts().lost(), 0U);
}

TEST_F(CodeRundownTest, RefusesWhatIsNotTheProcessesOwnPlainFile) {
    const Child child([] {});
    ASSERT_TRUE(child.ready());
    clean_up(child);
    const auto secret = folder_ / "secret";
    write(secret, "1000 10 secret\n");
    std::uint64_t refused = 0;
    const auto refuses = [&](const char* what) {
        seen(child.pid());
        began_program(child.pid(), monotonic_ns());
        EXPECT_EQ(copies(child.pid()), Texts{}) << what;
        EXPECT_EQ(rundown_->counts().files_refused, ++refused) << what;
        std::filesystem::remove_all(child.map());
    };
    std::filesystem::create_symlink(secret, child.map());
    refuses("a symbolic link");
    ASSERT_EQ(::mkfifo(child.map().c_str(), 0666), 0);
    refuses("a pipe that nobody writes to");
    std::filesystem::create_directory(child.map());
    refuses("a folder");
    write(child.map(), "1000 10 one\n");
    const auto second = child.map().string() + ".second";
    std::filesystem::create_hard_link(child.map(), second);
    refuses("a file with a second link");
    std::filesystem::remove(second);
    write(child.map(), "1000 10 of an earlier process\n");
    std::filesystem::last_write_time(
        child.map(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    refuses("a file older than the process");
    if (::geteuid() == 0) {
        write(child.map(), "1000 10 another's\n");
        ASSERT_EQ(::chown(child.map().c_str(), 12345, 12345), 0);
        refuses("another user's file");
    }
    EXPECT_EQ(rundown_->counts().files, 0U);
}

TEST_F(CodeRundownTest, KeepsToItsLimitsAndCountsWhatIsMissing) {
    rundown_.emplace(folder_, CodeRundownLimits{2, 20, 30});
    const auto work = [] { write_own_map("1000 10 0123456789\n1010 10 cut\n"); };
    const Child first(work), second(work), third(work);
    for (const Child* child : {&first, &second, &third}) {
        ASSERT_TRUE(child->ready());
        clean_up(*child);
        seen(child->pid());
        seen(child->pid());
    }
    EXPECT_EQ(rundown_->counts().processes_left_out, 1U);
    rundown_->finish();
    EXPECT_EQ(copies(first.pid()), Texts{"1000 10 0123456789\n1"});
    EXPECT_EQ(copies(second.pid()), Texts{"1000 10 01"});
    EXPECT_EQ(copies(third.pid()), Texts{});
    EXPECT_EQ(rundown_->counts().files_cut, 2U);
    EXPECT_EQ(rundown_->counts().bytes, 30U);
}

TEST_F(CodeRundownTest, HoldsNoDescriptorOfProcessesThatAreGone) {
    const auto open_descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const auto before = open_descriptors();
    for (int i = 0; i < 5; ++i) {
        Child child([] {});
        ASSERT_TRUE(child.ready());
        seen(child.pid());
        EXPECT_GT(open_descriptors(), before);
        child.end();
        exited(child.pid(), child.pid());
        seen(child.pid());  // reported late: there is no such process
        EXPECT_EQ(open_descriptors(), before);
    }
    EXPECT_EQ(rundown_->counts().lost(), 0U);
}

// The process's files are on a file system that does not answer.
class SilentCopier : public DirectCodeFileCopier {
  public:
    Result<std::uint64_t> copy(Owner, int, int to, std::uint64_t) override {
        (void)!::write(to, "begun", 5);
        return make_error(ErrorKind::Timeout, "took too long");
    }
};

TEST_F(CodeRundownTest, WhatIsNotReadInTimeCountsAsLost) {
    SilentCopier silent;
    copy_code_files_by(&silent);
    rundown_.emplace(folder_);
    copy_code_files_by(nullptr);
    const Child child([] { write_own_map("1000 10 one\n"); });
    ASSERT_TRUE(child.ready());
    clean_up(child);
    seen(child.pid());
    rundown_->finish();
    EXPECT_EQ(copies(child.pid()), Texts{}) << "half a file would be taken for a whole one";
    EXPECT_EQ(rundown_->counts().files_failed, 1U);
    EXPECT_EQ(rundown_->counts().lost(), 1U);
}

class CodeRundownNamespaces : public CodeRundownTest {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may make namespaces everywhere";
        CodeRundownTest::SetUp();
    }
    // In the child: mounts its own file system at /tmp, invisible to others.
    static void mount_tmp(const char* file_system) {
        if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(1);
        if (::mount("own", "/tmp", file_system, 0, nullptr) != 0) ::_exit(1);
    }
};

TEST_F(CodeRundownNamespaces, ReadsInTheProcessesOwnEvenWhenTheyAreGone) {
    const auto work = [] {
        mount_tmp("tmpfs");
        write("/tmp/perf-1.map", "1000 10 of number " + std::to_string(::getpid()) + " there\n");
    };
    Child child(work, CLONE_NEWNS | CLONE_NEWPID);
    ASSERT_TRUE(child.ready());
    ASSERT_FALSE(std::filesystem::exists(child.map()));
    seen(child.pid());
    child.end();  // and with it both namespaces
    exited(child.pid(), child.pid());
    EXPECT_EQ(copies(child.pid()), Texts{"1000 10 of number 1 there\n"});
    EXPECT_EQ(rundown_->counts().lost(), 0U);
}

TEST_F(CodeRundownNamespaces, LooksIntoLocalFileSystemsAlone) {
    const Child child([] { mount_tmp("proc"); }, CLONE_NEWNS);
    ASSERT_TRUE(child.ready());
    seen(child.pid());
    rundown_->finish();
    EXPECT_EQ(rundown_->counts().files_refused, 1U);
}

}  // namespace
}  // namespace lagtrap::daemon::code_rundown_test
