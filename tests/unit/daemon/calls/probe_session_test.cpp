// Detaches functions of this program that are called too often.
#include "daemon/calls/probe_session.hpp"

#include <unistd.h>

#include <gmock/gmock.h>

#include "daemon/calls/call_engine.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/traced_functions.hpp"

namespace lagtrap::daemon {

[[gnu::noinline]] void session_test_rare() { asm volatile("nop; nop; nop"); }
[[gnu::noinline]] void session_test_frequent() { asm volatile("nop; nop"); }

namespace probe_session_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ProbeSessionTest : public BpfFixture {
  protected:
    void SetUp() override {
        auto loaded = CallEngine::load({::getpid(), {}}, 0ns);
        ASSERT_TRUE(loaded) << loaded.error().message;
        engine_ = std::move(*loaded);
        ASSERT_TRUE(engine_->attach(
            own_program(), {own_function(session_test_rare), own_function(session_test_frequent)}));
        functions_.resize(2);
        for (calls::Function& one : functions_) one.level = 1;
    }
    ProbeSession& session() { return engine_->session(); }

    std::unique_ptr<CallEngine> engine_;
    std::vector<calls::Function> functions_;
};

// At this cost, one call is more than a day of the budget.
TEST_F(ProbeSessionTest, WhatExceedsTheBudgetIsDetached) {
    functions_[1].cost = {3'600'000'000'000, 0};
    CallThinning thinning(0.1);
    EXPECT_THAT(session().too_expensive(thinning, functions_), IsEmpty()) << "the first look";
    session_test_rare();
    session_test_frequent();
    EXPECT_THAT(session().hits(), ElementsAre(1, 1));
    const auto out = session().too_expensive(thinning, functions_);
    ASSERT_THAT(out, SizeIs(1));
    EXPECT_EQ(out[0].function, 1U);
    ASSERT_TRUE(session().detach_functions({1}));
    session_test_rare();
    EXPECT_GT(session().hits().at(0), 1U) << "it is still probed, for a moment perhaps twice";
}

TEST_F(ProbeSessionTest, FunctionsWithACostHaveHits) {
    session().set_cost(3, {1, 2});
    EXPECT_THAT(session().hits(), ElementsAre(0, 0, 0, 0));
    session().set_cost(LAGTRAP_CALL_FUNCTIONS, {1, 2});
    EXPECT_THAT(session().hits(), SizeIs(4));
}

TEST_F(ProbeSessionTest, DetachingRemovesAllProbes) {
    (void)session().detach();
    session_test_rare();
    EXPECT_THAT(session().hits(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace probe_session_test
}  // namespace lagtrap::daemon
