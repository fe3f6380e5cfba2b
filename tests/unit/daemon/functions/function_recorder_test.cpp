// Traces functions of a library that this process seems to have mapped, for recordings and for
// clients.
#include "daemon/functions/function_recorder.hpp"

#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "daemon/functions/function_trace.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "tests/unit/await.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/traced_functions.hpp"

namespace lagtrap::daemon::function_recorder_test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

#if defined(__x86_64__)
class Lines : public AnswerLines {
  public:
    bool say(const std::string& line) override { return keep(line); }
    void end(const std::string& line) override {
        (void)keep(line);
        ended = true;
    }
    [[nodiscard]] bool is_unwanted() const override { return unwanted; }
    [[nodiscard]] std::vector<calls::FunctionsMessage> messages() const {
        const std::scoped_lock lock(mutex_);
        std::vector<calls::FunctionsMessage> read;
        for (const std::string& line : lines_) {
            auto message = calls::parse_functions_message(line);
            EXPECT_TRUE(message) << message.error().message;
            if (message) read.push_back(std::move(*message));
        }
        return read;
    }
    [[nodiscard]] std::size_t reported_calls() const {
        std::size_t count = 0;
        for (const auto& message : messages())
            if (message.calls) count += message.calls->size();
        return count;
    }
    [[nodiscard]] std::string last() const {
        const std::scoped_lock lock(mutex_);
        return lines_.empty() ? std::string() : lines_.back();
    }
    std::atomic<bool> unwanted{false}, ended{false};

  private:
    bool keep(const std::string& line) {
        const std::scoped_lock lock(mutex_);
        lines_.push_back(line);
        return true;
    }
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

class RunningFunctionRecorder : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        keep_libbpf_messages();
        request_.wishes.pid = static_cast<std::uint32_t>(::getpid());
        request_.wishes.include = "^(valloc|realloc)$";
        request_.wishes.exclude = "^(main|outermost_function)$";
        request_.min_duration = 0ns;
        request_.budget = 1'000;
    }
    ~RunningFunctionRecorder() override { end(); }
    void start(std::chrono::nanoseconds window) {
        recorder_ = std::make_unique<FunctionRecorder>(
            request_, window, [this](const std::string& reason) { refused_ = reason; });
    }
    void run() {
        thread_ = std::thread([this] {
            recorder_->run(
                process_, [] { return CallCosts(); }, stop_);
        });
    }
    void end() {
        if (recorder_) recorder_->end();
        if (thread_.joinable()) thread_.join();
    }

    LibraryCalls library_;
    OwnLibrary process_;
    FunctionRequest request_;
    std::atomic<bool> stop_{false};
    std::string refused_;
    std::unique_ptr<FunctionRecorder> recorder_;
    std::thread thread_;
};

TEST_F(RunningFunctionRecorder, AStandingTraceGivesWhatWasBeforeAndWhatFollows) {
    start(1h);
    run();
    await("the recorder", [this] { return recorder_->status().watched == 2; });
    (void)library_.valloc(5);
    (void)library_.valloc(5);
    await("the recorder", [this] { return recorder_->status().kept_calls == 2; });
    FunctionRecorderStatus status = recorder_->status();
    EXPECT_EQ(status.process, "daemon_tests");
    EXPECT_EQ(status.detached, 0U);
    EXPECT_EQ(status.budget, 1'000.0);
    EXPECT_EQ(status.min_ns, 0U);
    EXPECT_FALSE(status.recording);
    const auto lines = std::make_shared<Lines>();
    ASSERT_TRUE(recorder_->record(lines));
    EXPECT_FALSE(recorder_->record(std::make_shared<Lines>())) << "one at a time";
    await("the recorder", [&lines] { return lines->reported_calls() == 2; });
    EXPECT_TRUE(recorder_->status().recording);
    (void)library_.realloc(5);
    await("the recorder", [&lines] { return lines->reported_calls() == 3; });
    lines->unwanted = true;
    await("the recorder", [&lines] { return lines->ended.load(); });
    const auto messages = lines->messages();
    ASSERT_TRUE(messages.front().started);
    EXPECT_EQ(messages.front().started->window_ns, 3'600'000'000'000U);
    EXPECT_GT(messages.front().started->from_ns, 0U);
    ASSERT_TRUE(messages.back().ended);
    const calls::FunctionsEnded& ended = *messages.back().ended;
    EXPECT_EQ(ended.reason, "stopped");
    EXPECT_EQ(ended.sent, 3U);
    EXPECT_EQ(ended.not_sent, 0U);
    EXPECT_GT(ended.length_ns, 0U);
    ASSERT_EQ(ended.totals.size(), 2U);
    EXPECT_EQ(ended.totals[0].calls + ended.totals[1].calls, 3U);
    EXPECT_FALSE(recorder_->has_ended()) << "it stands";
    await("the recorder", [this] { return !recorder_->status().recording; });
    EXPECT_TRUE(recorder_->record(std::make_shared<Lines>()));
    end();
    EXPECT_TRUE(recorder_->has_ended());
    EXPECT_FALSE(recorder_->record(std::make_shared<Lines>()));
    EXPECT_THAT(refused_, IsEmpty());
}

TEST_F(RunningFunctionRecorder, OneOfARecordingEndsWithIt) {
    start(0ns);
    const auto lines = std::make_shared<Lines>();
    ASSERT_TRUE(recorder_->record(lines));
    run();
    await("the recorder", [&lines] { return !lines->messages().empty(); });
    (void)library_.valloc(5);
    await("the recorder", [&lines] { return lines->reported_calls() == 1; });
    EXPECT_EQ(recorder_->status().kept_calls, 0U);
    lines->unwanted = true;
    await("the recorder", [this] { return recorder_->has_ended(); });
    thread_.join();
    const auto messages = lines->messages();
    EXPECT_EQ(messages.front().started->window_ns, 0U);
    ASSERT_TRUE(messages.back().ended);
    EXPECT_EQ(messages.back().ended->reason, "stopped");
    EXPECT_EQ(messages.back().ended->totals.at(0).calls, 1U);
}

TEST_F(RunningFunctionRecorder, EndsWithTheDaemon) {
    start(0ns);
    const auto lines = std::make_shared<Lines>();
    ASSERT_TRUE(recorder_->record(lines));
    stop_ = false;
    run();
    await("the recorder", [&lines] { return !lines->messages().empty(); });
    stop_ = true;
    thread_.join();
    EXPECT_EQ(lines->messages().back().ended->reason, "lagtrapd is stopping");
}

TEST_F(RunningFunctionRecorder, WhatCannotBeginSaysWhyToBoth) {
    request_.wishes.include = "(";
    start(1h);
    const auto lines = std::make_shared<Lines>();
    ASSERT_TRUE(recorder_->record(lines));
    recorder_->run(
        process_, [] { return CallCosts(); }, stop_);
    EXPECT_TRUE(recorder_->has_ended());
    EXPECT_THAT(refused_, testing::Not(IsEmpty()));
    EXPECT_TRUE(lines->ended);
    EXPECT_EQ(boost::json::parse(lines->last()).at("error"), boost::json::value(refused_));
}

TEST_F(RunningFunctionRecorder, AClientsTraceEndsAfterItsLength) {
    request_.length = 1ns;
    Lines lines;
    trace_functions(
        request_, process_, [] { return CallCosts(); }, lines, stop_);
    const auto messages = lines.messages();
    ASSERT_EQ(messages.size(), 2U);
    ASSERT_TRUE(messages[0].started);
    EXPECT_EQ(messages[0].started->functions.size(), 2U);
    ASSERT_TRUE(messages[1].ended);
    EXPECT_EQ(messages[1].ended->reason, "time limit reached");
    EXPECT_EQ(messages[1].ended->min_ns, 0U);
    EXPECT_GT(messages[1].ended->length_ns, 0U);
    EXPECT_GT(messages[1].ended->detach_ns, 0U);
    EXPECT_THAT(messages[1].ended->totals, IsEmpty());
}

TEST_F(RunningFunctionRecorder, AClientsTraceReportsAndCountsCalls) {
    request_.min_duration = 5ns;
    Lines lines;
    std::thread trace([&] {
        trace_functions(
            request_, process_, [] { return CallCosts(); }, lines, stop_);
    });
    await("the recorder", [&lines] { return !lines.messages().empty(); });
    (void)library_.valloc(5);
    (void)library_.realloc(5);
    lines.unwanted = true;
    trace.join();
    const auto messages = lines.messages();
    ASSERT_TRUE(messages.back().ended);
    EXPECT_EQ(messages.back().ended->reason, "stopped");
    EXPECT_EQ(messages.back().ended->totals.size(), 2U);
    EXPECT_EQ(messages.back().ended->min_ns, 5U);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::function_recorder_test
