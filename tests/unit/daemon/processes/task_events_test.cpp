#include "daemon/processes/task_events.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon::task_events_test {
namespace {

// What was seen of one process, by type of the record.
struct Seen {
    std::vector<std::string> mapped, names;
    bool forked = false, ended = false, started = false;
};

// Keeps this thread and its children on the first of their CPUs, while it lives.
class OneCpu {
  public:
    OneCpu() {
        EXPECT_EQ(::sched_getaffinity(0, sizeof(before_), &before_), 0);
        int first = 0;
        while (!CPU_ISSET(first, &before_)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        EXPECT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    }
    ~OneCpu() { (void)::sched_setaffinity(0, sizeof(before_), &before_); }
    OneCpu(const OneCpu&) = delete;
    OneCpu& operator=(const OneCpu&) = delete;

  private:
    cpu_set_t before_{};
};

class TaskEventsTest : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may follow all processes";
        auto opened = TaskEvents::open();
        ASSERT_TRUE(opened) << opened.error().message;
        events_.emplace(std::move(*opened));
    }
    static pid_t run_true() {
        const pid_t child = ::fork();
        if (child == 0) {
            ::execl("/usr/bin/true", "true", nullptr);
            ::_exit(127);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return child;
    }
    Seen seen_of(pid_t process) {
        const auto pid = static_cast<std::uint32_t>(process);
        Seen seen;
        events_->drain([&](const lagtrap_record* record) {
            if (record->type == LAGTRAP_RECORD_MAPPING) {
                const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
                if (mapping.pid == pid) seen.mapped.emplace_back(path_of(mapping));
            } else if (record->type == LAGTRAP_RECORD_NAME) {
                const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
                if (name.pid != pid) return;
                seen.names.emplace_back(name.comm);
                seen.started = seen.started || name.by_exec != 0;
            } else {
                const auto& change = *reinterpret_cast<const lagtrap_task_change*>(record);
                if (change.pid != pid) return;
                seen.forked = seen.forked || record->type == LAGTRAP_RECORD_FORK;
                seen.ended = seen.ended || record->type == LAGTRAP_RECORD_EXIT;
            }
        });
        return seen;
    }
    std::optional<TaskEvents> events_;
};

TEST_F(TaskEventsTest, FollowAProcessFromItsForkToItsEnd) {
    const pid_t child = run_true();
    const Seen seen = seen_of(child);
    EXPECT_TRUE(seen.forked);
    EXPECT_TRUE(seen.started);
    EXPECT_TRUE(seen.ended);
    EXPECT_EQ(seen.names, std::vector<std::string>{"true"});
    bool has_program = false;
    for (const std::string& path : seen.mapped)
        has_program = has_program || path.ends_with("/true");
    EXPECT_TRUE(has_program);
    EXPECT_TRUE(seen_of(child).mapped.empty()) << "each record is passed once";
}

TEST_F(TaskEventsTest, AProgramThatStartsWakesUp) {
    (void)run_true();
    pollfd wakeup{events_->wakeup_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&wakeup, 1, 60'000), 1);
}

TEST_F(TaskEventsTest, FullRingsAreLossesThatAreCounted) {
    const OneCpu one_cpu;
    auto small = TaskEvents::open(1);
    ASSERT_TRUE(small) << small.error().message;
    std::uint64_t taken = 0;
    for (int i = 0; i < 2'000; ++i) {
        void* const code =
            ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(code, MAP_FAILED);
        ::munmap(code, 4096);
    }
    small->drain([&](const lagtrap_record*) { ++taken; });
    // The kernel reports losses with the next record that finds room in the same ring.
    (void)run_true();
    small->drain([&](const lagtrap_record*) { ++taken; });
    EXPECT_GT(taken, 0U);
    EXPECT_LT(taken, 2'000U);
    EXPECT_GT(small->lost(), 0U);
}

TEST_F(TaskEventsTest, NoCpuComesWithoutHavingGone) {
    EXPECT_TRUE(events_->renew().empty() || events_->lost() > 0);
}

}  // namespace
}  // namespace lagtrap::daemon::task_events_test
