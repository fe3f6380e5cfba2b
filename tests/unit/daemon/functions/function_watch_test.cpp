// Watches functions of a library that this process has mapped. Its calls are real.
#include "daemon/functions/function_watch.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/traced_functions.hpp"

namespace lagtrap::daemon::function_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

#if defined(__x86_64__)
class FunctionWatchTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        keep_libbpf_messages();
        library_ = ::dlopen(MadeUpProcess::own_allocator().c_str(), RTLD_LAZY | RTLD_LOCAL);
        ASSERT_NE(library_, nullptr) << ::dlerror();
        valloc_ = reinterpret_cast<Function>(::dlsym(library_, "valloc"));
        realloc_ = reinterpret_cast<Function>(::dlsym(library_, "realloc"));
        request_.wishes.pid = static_cast<std::uint32_t>(::getpid());
        request_.wishes.include = "^(valloc|realloc)$";
        request_.wishes.exclude = "^(main|outermost_function)$";
        request_.min_duration = 0ns;
        request_.budget = 1'000;
        costs_.inside = {{{{{10, 20}, {30, 40}, {50, 60}}}, {{{70, 80}, {90, 100}, {110, 120}}}}};
    }
    ~FunctionWatchTest() override {
        if (library_) ::dlclose(library_);
    }

    using Function = std::uint64_t (*)(std::uint64_t);
    void begin() {
        auto begun = FunctionWatch::begin(
            request_, process_, [this] { return costs_; }, stop_);
        ASSERT_TRUE(begun) << begun.error().message;
        watch_ = std::move(*begun);
        ASSERT_EQ(watch_->started().functions.size(), 2U);
        const bool first = watch_->started().functions[0].name == "valloc";
        valloc_number_ = first ? 0 : 1;
        realloc_number_ = first ? 1 : 0;
    }
    [[nodiscard]] Error refusal() {
        auto begun = FunctionWatch::begin(
            request_, process_, [this] { return costs_; }, stop_);
        EXPECT_FALSE(begun);
        return begun ? Error{} : begun.error();
    }
    [[nodiscard]] static std::vector<std::uint32_t> numbers_of(const FunctionWatch::Seen& seen) {
        std::vector<std::uint32_t> numbers;
        for (const calls::TracedCall& call : seen.calls) numbers.push_back(call.function);
        return numbers;
    }

    OwnLibrary process_;
    FunctionRequest request_;
    CallCosts costs_;
    std::atomic<bool> stop_{false};
    void* library_ = nullptr;
    Function valloc_ = nullptr, realloc_ = nullptr;
    std::uint32_t valloc_number_ = 0, realloc_number_ = 0;
    std::unique_ptr<FunctionWatch> watch_;
};

TEST_F(FunctionWatchTest, DescribesWhatIsWatched) {
    const std::uint64_t before_ns = monotonic_ns();
    begin();
    const calls::FunctionsStarted& started = watch_->started();
    EXPECT_EQ(started.pid, request_.wishes.pid);
    EXPECT_EQ(started.process, "daemon_tests");
    EXPECT_THAT(started.refused, IsEmpty());
    EXPECT_GT(started.plan_ns, 0U);
    EXPECT_GT(started.attach_ns, 0U);
    EXPECT_GE(watch_->began_ns(), before_ns + started.plan_ns + started.attach_ns);
    EXPECT_LE(watch_->began_ns(), monotonic_ns());
    const calls::Function& one = started.functions.at(valloc_number_);
    EXPECT_EQ(one.name, "valloc");
    EXPECT_EQ(one.module, "/usr/lib/libsys.so.1");
    EXPECT_EQ(one.level, 1U);
    EXPECT_GT(one.entry, 0U);
    EXPECT_NE(one.entry, started.functions.at(realloc_number_).entry);
    ASSERT_EQ(started.hooks.size(), 1U);
    EXPECT_EQ(started.hooks[0].functions, 2U);
    EXPECT_EQ(started.hooks[0].cost_ns, one.cost.inside_ns + one.cost.around_ns);
    EXPECT_GT(one.cost.inside_ns, 0U);
    EXPECT_THAT(started.attached_by,
                StartsWith(has_uprobe_multi() ? "uprobe_multi: all probes at once"
                                              : "single probes: this kernel lacks"));
    EXPECT_THAT(watch_->so_far().runtimes, IsEmpty());
    EXPECT_EQ(watch_->so_far().unnamed, 0U);
    EXPECT_FALSE(watch_->process().has_ended());
}

TEST_F(FunctionWatchTest, ReportsAndCountsCalls) {
    begin();
    EXPECT_EQ(valloc_(5), 5U);
    (void)realloc_(6);
    (void)valloc_(7);
    const FunctionWatch::Seen seen = watch_->take(0ms);
    EXPECT_THAT(numbers_of(seen), ElementsAre(valloc_number_, realloc_number_, valloc_number_));
    EXPECT_THAT(seen.more, IsEmpty());
    EXPECT_THAT(seen.detached, IsEmpty());
    auto totals = watch_->take_totals();
    ASSERT_THAT(totals, SizeIs(2));
    EXPECT_EQ(totals.at(valloc_number_).calls, 2U);
    EXPECT_EQ(totals.at(realloc_number_).calls, 1U);
    EXPECT_THAT(watch_->take_totals(), IsEmpty()) << "nothing since then";
    (void)realloc_(8);
    totals = watch_->take_totals();
    ASSERT_THAT(totals, SizeIs(1));
    EXPECT_EQ(totals[0].function, realloc_number_);
    EXPECT_EQ(totals[0].calls, 1U);
    EXPECT_EQ(watch_->so_far().not_sent, 0U);
    EXPECT_EQ(watch_->so_far().too_deep, 0U);
}

TEST_F(FunctionWatchTest, ShortCallsAreOnlyCounted) {
    request_.min_duration = 1h;
    begin();
    EXPECT_EQ(watch_->min_ns(), 3'600'000'000'000U);
    (void)valloc_(5);
    EXPECT_THAT(watch_->take(0ms).calls, IsEmpty());
    EXPECT_THAT(watch_->take_totals(), SizeIs(1));
    EXPECT_EQ(watch_->so_far().not_sent, 0U);
}

TEST_F(FunctionWatchTest, CallsBeyondTheDataRateAreCountedAsNotSent) {
    request_.bytes_per_second = ReportedRate::bytes_of_call;
    begin();
    for (int i = 0; i < 5; ++i) (void)valloc_(5);
    const std::size_t reported = watch_->take(0ms).calls.size();
    EXPECT_LT(reported, 5U);
    EXPECT_EQ(watch_->so_far().not_sent, 5 - reported);
    EXPECT_EQ(watch_->take_totals().at(0).calls, 5U);
}

TEST_F(FunctionWatchTest, TracesShareTheBudget) {
    const auto sharers = std::make_shared<std::atomic<std::size_t>>(4);
    request_.shared_by = sharers;
    begin();
    EXPECT_EQ(watch_->budget(), 250.0);
    sharers->store(0);
    EXPECT_EQ(watch_->budget(), 1'000.0);
}

TEST_F(FunctionWatchTest, WhatCostsTooMuchIsDetachedAndSaid) {
    request_.budget = 1e-6;
    begin();
    std::vector<calls::DetachedFunction> detached;
    for (const auto until = std::chrono::steady_clock::now() + 60s; detached.empty();) {
        ASSERT_LT(std::chrono::steady_clock::now(), until);
        for (int i = 0; i < 1'000; ++i) (void)valloc_(5);
        detached = watch_->look(0ms).detached;
    }
    EXPECT_EQ(detached.at(0).function, valloc_number_);
    (void)watch_->take(0ms);
    (void)watch_->take_totals();
    (void)valloc_(5);
    EXPECT_THAT(watch_->take_totals(), IsEmpty());
}

TEST_F(FunctionWatchTest, DetachedProbesCountNothing) {
    begin();
    EXPECT_GT(watch_->detach(), 0U);
    (void)valloc_(5);
    EXPECT_THAT(watch_->take(0ms).calls, IsEmpty());
    EXPECT_THAT(watch_->take_totals(), IsEmpty());
}

TEST_F(FunctionWatchTest, AnErrorSaysWhy) {
    FunctionRequest good = request_;
    request_.wishes.include = "(";
    EXPECT_EQ(refusal().kind, ErrorKind::Invalid);
    request_ = good;
    request_.wishes.exclude = ".";
    EXPECT_EQ(refusal().kind, ErrorKind::Unsupported);
    request_ = good;
    request_.wishes.pid = static_cast<std::uint32_t>(ended_process());
    EXPECT_EQ(refusal().kind, ErrorKind::NotFound);
    request_ = good;
    stop_ = true;
    (void)refusal();
}

TEST_F(FunctionWatchTest, CallsOfAnotherUserDoNotCount) {
    request_.wishes.owner = ::getuid() + 1;
    begin();
    (void)valloc_(5);
    EXPECT_THAT(watch_->take_totals(), IsEmpty());
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::function_watch_test
