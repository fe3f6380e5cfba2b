#include "daemon/functions/function_lines.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/functions/function_recorder.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon::function_lines_test {
namespace {

class Answer : public AnswerLines {
  public:
    bool say(const std::string& line) override {
        if (lines.size() >= room) return false;
        lines.push_back(line);
        return true;
    }
    void end(const std::string& line) override { last = line; }
    [[nodiscard]] bool is_unwanted() const override { return unwanted; }
    [[nodiscard]] calls::FunctionsMessage message(std::size_t number) const {
        return calls::parse_functions_message(lines.at(number)).value();
    }

    std::size_t room = 100;
    bool unwanted = false;
    std::vector<std::string> lines;
    std::string last;
};

std::vector<calls::TracedCall> some_calls(std::size_t count) {
    std::vector<calls::TracedCall> calls(count);
    for (std::size_t i = 0; i < count; ++i) {
        calls[i].begin_ns = 10 + i;
        calls[i].end_ns = 20 + i;
    }
    return calls;
}

TEST(FunctionLinesTest, HaveTwoThousandCallsAtMost) {
    Answer answer;
    FunctionLines lines(answer);
    lines.send(some_calls(0));
    EXPECT_EQ(answer.lines.size(), 0U);
    lines.send(some_calls(2'000));
    ASSERT_EQ(answer.lines.size(), 1U);
    lines.send(some_calls(4'001));
    ASSERT_EQ(answer.lines.size(), 4U);
    EXPECT_EQ(answer.message(1).calls->size(), 2'000U);
    EXPECT_EQ(answer.message(2).calls->size(), 2'000U);
    ASSERT_EQ(answer.message(3).calls->size(), 1U);
    EXPECT_EQ(answer.message(2).calls->front().begin_ns, 2'010U);
    EXPECT_EQ(answer.message(3).calls->front().begin_ns, 4'010U);
    std::uint64_t bytes = 0;
    for (const std::string& line : answer.lines) bytes += line.size();
    lines.end({});
    const auto ended = calls::parse_functions_message(answer.last)->ended;
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->sent, 6'001U);
    EXPECT_EQ(ended->bytes, bytes);
    EXPECT_EQ(ended->not_sent, 0U);
}

TEST(FunctionLinesTest, CountCallsThatFoundNoRoomInAdditionToOthers) {
    Answer answer;
    answer.room = 1;
    FunctionLines lines(answer);
    lines.send(some_calls(2'003));
    calls::FunctionsEnded over;
    over.reason = "stopped";
    over.not_sent = 40;
    lines.end(over);
    const auto ended = calls::parse_functions_message(answer.last)->ended;
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->sent, 2'000U);
    EXPECT_EQ(ended->bytes, answer.lines[0].size());
    EXPECT_EQ(ended->not_sent, 43U);
    EXPECT_EQ(ended->reason, "stopped");
}

TEST(FunctionLinesTest, AreLeftOutWhereThereIsNothingToTell) {
    Answer answer;
    FunctionLines lines(answer);
    lines.send(FunctionWatch::Seen());
    lines.send(std::vector<calls::DetachedFunction>());
    EXPECT_EQ(answer.lines.size(), 0U);
    calls::FunctionsStarted started;
    started.pid = 7;
    lines.begin(started);
    lines.send(std::vector<calls::DetachedFunction>{{3, 900}});
    calls::Function one;
    one.name = "work";
    lines.send(FunctionWatch::Seen{{one}, some_calls(1), {{4, 800}}});
    EXPECT_EQ(answer.message(0).started->pid, 7U);
    EXPECT_EQ(answer.message(1).detached->at(0).calls_per_second, 900U);
    EXPECT_EQ(answer.message(2).more->at(0).name, "work");
    EXPECT_EQ(answer.message(3).calls->size(), 1U);
    EXPECT_EQ(answer.message(4).detached->at(0).function, 4U);
    EXPECT_FALSE(lines.is_unwanted());
    answer.unwanted = true;
    EXPECT_TRUE(lines.is_unwanted());
}

// A recorder of a process that does not exist.
class FunctionRecorderTest : public testing::Test {
  protected:
    static FunctionRequest request() {
        FunctionRequest request;
        request.wishes.pid = 4'000'000;
        return request;
    }
    void run() {
        DirectInspector inspector;
        const std::atomic<bool> stop{false};
        recorder_.run(
            inspector, [] { return CallCosts(); }, stop);
    }
    std::vector<std::string> refused_;
    FunctionRecorder recorder_{request(), std::chrono::seconds(5),
                               [this](const std::string& why) { refused_.push_back(why); }};
    std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
};

TEST_F(FunctionRecorderTest, WritesForOneRecordingAtATime) {
    EXPECT_EQ(recorder_.pid(), 4'000'000U);
    EXPECT_FALSE(recorder_.status().recording);
    EXPECT_TRUE(recorder_.record(answer_));
    EXPECT_TRUE(recorder_.status().recording);
    EXPECT_FALSE(recorder_.record(answer_));
    EXPECT_FALSE(recorder_.has_ended());
}

TEST_F(FunctionRecorderTest, SaysWhyItCannotBegin) {
    ASSERT_TRUE(recorder_.record(answer_));
    run();
    EXPECT_TRUE(recorder_.has_ended());
    ASSERT_EQ(refused_.size(), 1U);
    EXPECT_EQ(refused_[0], "no process 4000000 (thread ids are not accepted)");
    EXPECT_NE(answer_->last.find(refused_[0]), std::string::npos);
    EXPECT_FALSE(calls::parse_functions_message(answer_->last));
    EXPECT_FALSE(recorder_.record(std::make_shared<Answer>())) << "it has ended";
}

TEST_F(FunctionRecorderTest, SaysNothingOnceItIsNotWanted) {
    recorder_.end();
    EXPECT_FALSE(recorder_.record(answer_));
    run();
    EXPECT_TRUE(recorder_.has_ended());
    EXPECT_TRUE(refused_.empty());
    EXPECT_EQ(answer_->last, "");
}

}  // namespace
}  // namespace lagtrap::daemon::function_lines_test
