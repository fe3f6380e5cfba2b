#include "analysis/wait_chain.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::wait_chain_test {
namespace {

class WaitEnds : public testing::Test {
  protected:
    WaitEnds() {
        made_.thread(10, 11);
        made_.thread(20, 20);
        made_.thread(40, 40, "kworker/0:1");
        made_.process(40, 2);
        wait_.state = ThreadState::Blocked;
        wait_.tid = 11;
        wait_.woken = true;
        wait_.waker_tid = 20;
        wait_.stack = made_.stack({"main", "k:pipe_read"});
    }
    bool by_nobody(const std::string& function) {
        wait_.stack = made_.stack({"main", "k:" + function});
        return ended_by_nobody(made_.recording, wait_);
    }
    test::MadeRecording made_;
    Interval wait_;
};

TEST_F(WaitEnds, AThreadEndsAWaitUnlessItIsAnInterrupt) {
    EXPECT_FALSE(ended_by_nobody(made_.recording, wait_));
    Interval wait = wait_;
    wait.woken = false;
    EXPECT_TRUE(ended_by_nobody(made_.recording, wait));
    wait = wait_;
    wait.by_interrupt = true;
    EXPECT_TRUE(ended_by_nobody(made_.recording, wait));
    wait = wait_;
    wait.waker_tid = 0;
    EXPECT_TRUE(ended_by_nobody(made_.recording, wait));
}

TEST_F(WaitEnds, NobodyEndsWaitsForMemoryAndGracePeriods) {
    wait_.wake_cause = WakeCause::Thread;
    for (const char* function :
         {"try_to_free_pages", "try_to_free_mem_cgroup_pages", "synchronize_rcu", "__wait_rcu_gp"})
        EXPECT_TRUE(by_nobody(function)) << function;
    EXPECT_FALSE(by_nobody("io_schedule")) << "its cause is known";
}

// Older recordings name whatever thread the interrupt hit.
TEST_F(WaitEnds, OfWaitsThatDevicesEndOnlyAThreadOfTheKernelIsBelieved) {
    for (const char* function : {"io_schedule", "do_nanosleep", "filemap_fault"}) {
        wait_.waker_tid = 20;
        EXPECT_TRUE(by_nobody(function)) << function;
        wait_.waker_tid = 40;
        EXPECT_FALSE(by_nobody(function)) << function;
    }
}

}  // namespace
}  // namespace lagtrap::analysis::wait_chain_test
