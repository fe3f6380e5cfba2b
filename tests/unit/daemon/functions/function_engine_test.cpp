// Traces functions of this program.
#include "daemon/functions/function_engine.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include <gmock/gmock.h>

#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/traced_functions.hpp"

namespace lagtrap::daemon {

[[gnu::noinline]] void engine_test_inner() { asm volatile("nop; nop; nop; nop"); }
[[gnu::noinline]] void engine_test_outer() {
    engine_test_inner();
    engine_test_inner();
    asm volatile("nop; nop");
}

namespace function_engine_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class FunctionEngineTest : public BpfFixture {
  protected:
    void load(std::optional<uid_t> owner = std::nullopt) {
        auto loaded = FunctionEngine::load({::getpid(), owner}, false);
        ASSERT_TRUE(loaded) << loaded.error().message;
        engine_ = std::move(*loaded);
    }
    // outer() is function 0, inner() is 1.
    void attach() {
        const auto refused = engine_->session().attach(
            own_program(), {own_function(engine_test_outer), own_function(engine_test_inner)});
        ASSERT_TRUE(refused) << refused.error().message;
        EXPECT_THAT(*refused, IsEmpty());
    }
    [[nodiscard]] std::vector<std::uint32_t> functions_called() {
        std::vector<std::uint32_t> functions;
        for (const calls::TracedCall& call : engine_->take_calls(0ms))
            functions.push_back(call.function);
        return functions;
    }

    std::unique_ptr<FunctionEngine> engine_;
};

TEST_F(FunctionEngineTest, EachCallIsReported) {
    load();
    attach();
    engine_test_outer();
    const auto calls = engine_->take_calls(1s);
    ASSERT_THAT(calls, SizeIs(3));
    const auto& outer = calls[2];
    EXPECT_EQ(calls[0].function, 1U);
    EXPECT_EQ(calls[1].function, 1U);
    EXPECT_EQ(outer.function, 0U);
    EXPECT_LE(outer.begin_ns, calls[0].begin_ns);
    EXPECT_LE(calls[0].end_ns, calls[1].begin_ns);
    EXPECT_LE(calls[1].end_ns, outer.end_ns);
    EXPECT_EQ(outer.tid, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    EXPECT_EQ(outer.thread, "daemon_tests");
    EXPECT_FALSE(outer.left);
    EXPECT_THAT(engine_->take_calls(0ms), IsEmpty()) << "each once";
}

TEST_F(FunctionEngineTest, CallsAreCounted) {
    load();
    attach();
    engine_test_outer();
    engine_test_outer();
    EXPECT_THAT(engine_->session().hits(), ElementsAre(2, 4));
    EXPECT_EQ(engine_->hits_of(1), 4U);
    EXPECT_EQ(engine_->hits_of(2), 0U);
    auto totals = engine_->functions();
    ASSERT_THAT(totals, SizeIs(2));
    EXPECT_EQ(totals[0].function, 0U);
    EXPECT_EQ(totals[0].calls, 2U);
    EXPECT_THAT(totals[0].path, IsEmpty());
    EXPECT_EQ(totals[1].function, 1U);
    EXPECT_EQ(totals[1].calls, 4U);
    EXPECT_EQ(totals[1].left, 0U);
    EXPECT_GT(totals[1].longest_ns, 0U);
    EXPECT_THAT(totals[1].path, ElementsAre(0)) << "who called the longest";
    EXPECT_EQ(engine_->totals().sent, 6U);
    engine_->forget_longest();
    for (const calls::FunctionTotals& one : engine_->functions())
        EXPECT_EQ(one.longest_ns, 0U) << one.function;
}

TEST_F(FunctionEngineTest, ShortCallsAreOnlyCounted) {
    load();
    engine_->session().set_min_duration(1h);
    attach();
    engine_test_outer();
    EXPECT_THAT(functions_called(), IsEmpty());
    EXPECT_EQ(engine_->functions().at(1).calls, 2U);
    EXPECT_EQ(engine_->totals().limits.min_ns, 3'600'000'000'000U);
    engine_->session().set_min_duration(-1ns);
    EXPECT_EQ(engine_->totals().limits.min_ns, 0U);
    engine_test_outer();
    EXPECT_THAT(functions_called(), ElementsAre(1, 1, 0));
}

// What the probes cost is more than these calls took.
TEST_F(FunctionEngineTest, TheCostOfProbesIsPartOfNoCall) {
    load();
    engine_->session().set_cost(1, {0, 3'600'000'000'000});
    engine_->session().set_cost(LAGTRAP_TRACED_FUNCTIONS, {1, 1});
    attach();
    engine_test_outer();
    const auto totals = engine_->functions();
    ASSERT_THAT(totals, SizeIs(2));
    EXPECT_EQ(totals[0].own_ns, 0U) << "the cost around calls is the caller's";
    EXPECT_EQ(totals[0].longest_ns, 0U);
    EXPECT_GT(totals[1].own_ns, 0U);
    EXPECT_GT(totals[1].longest_ns, 0U);
}

TEST_F(FunctionEngineTest, CallsOfADetachedFunctionAreNotCounted) {
    load();
    attach();
    ASSERT_TRUE(engine_->session().detach_functions({1, 99}).ok());
    EXPECT_GT(engine_->totals().limits.relinking_until_ns, 0U);
    engine_test_outer();
    EXPECT_THAT(functions_called(), ElementsAre(0));
    const auto totals = engine_->functions();
    ASSERT_THAT(totals, SizeIs(1));
    EXPECT_EQ(totals[0].function, 0U);
    EXPECT_EQ(totals[0].calls, 1U) << "although it was attached again";
    engine_->session().detach();
    const std::uint64_t hits = engine_->hits_of(0);
    engine_test_outer();
    EXPECT_EQ(engine_->hits_of(0), hits);
}

TEST_F(FunctionEngineTest, AFunctionIsLeftOut) {
    load();
    attach();
    engine_->session().stop_counting(1);
    engine_->session().stop_counting(LAGTRAP_TRACED_FUNCTIONS);
    engine_test_outer();
    EXPECT_THAT(functions_called(), ElementsAre(0));
}

TEST_F(FunctionEngineTest, NothingIsSeenOnceDetached) {
    load();
    attach();
    engine_->session().detach();
    engine_test_outer();
    EXPECT_THAT(engine_->session().hits(), ElementsAre(0, 0));
}

TEST_F(FunctionEngineTest, LaterFunctionsContinueTheNumbers) {
    load();
    ASSERT_TRUE(engine_->session().attach(own_program(), {own_function(engine_test_outer)}));
    ASSERT_TRUE(engine_->session().attach(own_program(), {own_function(engine_test_inner)}));
    engine_test_outer();
    EXPECT_THAT(functions_called(), ElementsAre(1, 1, 0));
}

TEST_F(FunctionEngineTest, WhatTheKernelRefusesIsToldAndTheOthersAreAttached) {
    load();
    const auto refused =
        engine_->session().attach(own_program(), {own_function(engine_test_outer), no_function(),
                                                  no_function(), own_function(engine_test_inner)});
    ASSERT_TRUE(refused) << refused.error().message;
    std::vector<std::uint32_t> functions;
    for (const CallProbes::Refused& one : *refused) {
        functions.push_back(one.function);
        EXPECT_THAT(one.reason, StartsWith("the kernel refuses a probe there: attach "));
    }
    EXPECT_THAT(functions, ElementsAre(1, 2));
    engine_test_outer();
    EXPECT_THAT(functions_called(), ElementsAre(3, 3, 0));
    EXPECT_THAT(engine_->session().hits(), ElementsAre(1, 0, 0, 2));
}

TEST_F(FunctionEngineTest, IfTheKernelRefusesAllItIsAnError) {
    load();
    const auto refused = engine_->session().attach(own_program(), {no_function(), no_function()});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("the kernel refuses a probe there"));
}

TEST_F(FunctionEngineTest, AnEndedProcessHasVanished) {
    auto engine = FunctionEngine::load({ended_process(), {}}, false).value();
    const auto refused = engine->session().attach(own_program(), {own_function(engine_test_outer)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Vanished);
    EXPECT_EQ(refused.error().message, "the process is gone");
}

TEST_F(FunctionEngineTest, CallsOfAnotherUserAreNotSeen) {
    load(::getuid() + 1);
    attach();
    engine_test_outer();
    EXPECT_THAT(engine_->session().hits(), ElementsAre(0, 0));
}

PlannedRuntime runtime_of(OwnCode at_begin, OwnCode at_end) {
    PlannedRuntime runtime;
    runtime.runtime = calls::Runtime::Ruby;
    for (const bool is_end : {false, true}) {
        RuntimeProbe probe;
        probe.offset = own_file_offset(is_end ? at_end : at_begin).value();
        probe.at_end = is_end;
        runtime.probes.push_back(probe);
    }
    return runtime;
}

// Their names cannot be read, because these functions pass none.
TEST_F(FunctionEngineTest, ProbesOfARuntimeComeAndGo) {
    engine_ = FunctionEngine::load({::getpid(), {}}, true).value();
    ASSERT_TRUE(engine_
                    ->attach_runtimes(own_program(),
                                      {runtime_of(engine_test_outer, engine_test_inner)}, {2, 3})
                    .ok());
    engine_test_outer();
    const std::uint64_t hits = engine_->totals().runtime_hits;
    EXPECT_GT(hits, 0U);
    ASSERT_TRUE(engine_->watch_runtimes(false).ok());
    EXPECT_EQ(engine_->totals().runtime_epoch, 1U);
    engine_->session().detach();
    engine_test_outer();
    EXPECT_EQ(engine_->totals().runtime_hits, hits);
    ASSERT_TRUE(engine_->watch_runtimes(true).ok());
    engine_test_outer();
    EXPECT_GT(engine_->totals().runtime_hits, hits);
}

TEST_F(FunctionEngineTest, ARuntimeThatTheKernelRefusesIsAnError) {
    engine_ = FunctionEngine::load({::getpid(), {}}, true).value();
    PlannedRuntime runtime = runtime_of(engine_test_outer, engine_test_inner);
    runtime.probes[0].offset = no_function().entry;
    const Status attached = engine_->attach_runtimes(own_program(), {runtime}, {2, 3});
    ASSERT_FALSE(attached);
    EXPECT_EQ(attached.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(attached.error().message, StartsWith("the kernel refuses a probe there"));
}

}  // namespace
}  // namespace function_engine_test
}  // namespace lagtrap::daemon
