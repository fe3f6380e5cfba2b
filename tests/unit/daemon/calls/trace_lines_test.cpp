#include "daemon/calls/trace_lines.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::trace_lines_test {
namespace {

class Answer : public AnswerLines {
  public:
    bool say(const std::string& line) override {
        if (lines.size() >= room) return false;
        lines.push_back(line);
        return true;
    }
    void end(const std::string& line) override { last = line; }
    [[nodiscard]] bool is_unwanted() const override { return false; }

    std::size_t room = 100;
    std::vector<std::string> lines;
    std::string last;
};

using Rows = std::vector<calls::DetachedFunction>;

TEST(TraceLinesTest, RowsAreDividedBetweenLines) {
    Answer answer;
    TraceLines lines(answer);
    lines.send_in_parts(Rows{{1, 2}, {3, 4}, {5, 6}}, 2);
    lines.send_any(Rows{});
    lines.send_in_parts(Rows{}, 2);
    lines.send_any(Rows{{7, 8}});
    EXPECT_EQ(answer.lines,
              (std::vector<std::string>{R"({"detached":[[1,2],[3,4]]})", R"({"detached":[[5,6]]})",
                                        R"({"detached":[[7,8]]})"}));
}

TEST(TraceLinesTest, TheEndCountsCallsThatFoundNoRoom) {
    Answer answer;
    answer.room = 1;
    TraceLines lines(answer);
    lines.send_calls(Rows{{1, 2}});
    lines.send_calls(Rows{{3, 4}, {5, 6}}, 2);
    EXPECT_FALSE(lines.send(Rows{{7, 8}})) << "which is not counted";
    calls::Ended ended;
    ended.reason = "over";
    ended.not_sent = 10;
    lines.end(ended);
    EXPECT_EQ(calls::parse_message(answer.last)->ended->not_sent, 12U);
}

TEST(TraceLinesTest, ARefusalIsTheOnlyLine) {
    Answer answer;
    TraceLines(answer).refuse(make_error(ErrorKind::NotFound, "no process 7"));
    EXPECT_EQ(answer.last, R"({"ok":false,"error":"no process 7"})");
    EXPECT_TRUE(answer.lines.empty());
}

}  // namespace
}  // namespace lagtrap::daemon::trace_lines_test
