// Passes lines from the thread that writes them to the connection that sends them.
#include "daemon/control/answer_stream.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::answer_stream_test {
namespace {

TEST(AnswerStreamTest, LinesComeInTheirOrder) {
    int reported = 0;
    AnswerStream stream([&] { ++reported; });
    EXPECT_TRUE(stream.say("one"));
    EXPECT_TRUE(stream.say("two"));
    EXPECT_EQ(reported, 2);
    EXPECT_EQ(stream.take(), "one\ntwo\n");
    EXPECT_EQ(stream.take(), "");
    EXPECT_FALSE(stream.ended());
    stream.end("last");
    EXPECT_TRUE(stream.ended());
    EXPECT_EQ(stream.take(), "last\n");
}

TEST(AnswerStreamTest, SlowClientMissesLinesButNotTheLast) {
    AnswerStream stream([] {});
    const std::string large(AnswerStream::waiting_limit_bytes / 2, 'x');
    EXPECT_TRUE(stream.say(large));
    EXPECT_FALSE(stream.say(large)) << "with the end of the line before it is too much";
    stream.end("last");
    EXPECT_TRUE(stream.take().ends_with("x\nlast\n"));
}

TEST(AnswerStreamTest, NothingIsKeptForAClientThatIsGone) {
    int reported = 0;
    AnswerStream stream([&] { ++reported; });
    stream.note_gone();
    EXPECT_TRUE(stream.is_unwanted());
    EXPECT_FALSE(stream.say("one"));
    stream.end("last");
    EXPECT_EQ(stream.take(), "");
    EXPECT_EQ(reported, 0);
}

}  // namespace
}  // namespace lagtrap::daemon::answer_stream_test
