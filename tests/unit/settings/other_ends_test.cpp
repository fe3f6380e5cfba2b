// Additional ends of an event, which mark a run as failed or cancelled.
#include <string>

#include <gmock/gmock.h>

#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::other_ends_test {
namespace {

std::string with_ends(const std::string& ends) {
    return "<lagtrap version='1'><event name='query' threshold='1ms' trace-length='1s' "
           "binary='/bin/db'>"
           "<begin usdt='db:begin'/>" +
           ends + "</event></lagtrap>";
}

std::string problems_of(const std::string& ends) {
    std::string problems;
    for (const auto& one : parse_settings(with_ends(ends), BinaryCheck::Skip).diagnostics)
        problems += one.found + "\n";
    return problems;
}

TEST(OtherEnds, SayWhatBecameOfTheRun) {
    const auto outcome =
        parse_settings(with_ends("<end usdt='db:done'/><end function='abort' as='failed'/>"
                                 "<end usdt='db:stopped' as='cancelled'/>"),
                       BinaryCheck::Skip);
    ASSERT_TRUE(outcome.diagnostics.empty());
    const Event& event = outcome.settings.events.at(0);
    EXPECT_EQ(event.end.name, "done");
    ASSERT_EQ(event.other_ends.size(), 2);
    EXPECT_EQ(event.other_ends[0].marker.name, "abort");
    EXPECT_EQ(event.other_ends[0].marker.binary, "/bin/db");
    EXPECT_EQ(event.other_ends[0].meaning, EndMeaning::Failed);
    EXPECT_EQ(event.other_ends[1].meaning, EndMeaning::Cancelled);
}

TEST(OtherEnds, TheFirstSaysThatTheRunIsDoneAndNoOtherDoes) {
    EXPECT_THAT(problems_of("<end usdt='db:done' as='failed'/>"),
                testing::HasSubstr("the first <end>"));
    EXPECT_THAT(problems_of("<end usdt='db:done'/><end usdt='db:end'/>"),
                testing::HasSubstr("a second <end>"));
}

TEST(OtherEnds, LieInOneProgram) {
    EXPECT_THAT(
        problems_of("<end usdt='db:done'/><end usdt='db:end' as='failed' binary='/bin/other'/>"),
        testing::HasSubstr("two programs"));
    EXPECT_THAT(
        problems_of(
            "<end usdt='db:done'/><end tracepoint='sched:sched_process_exit' as='failed'/>"),
        testing::HasSubstr("two programs"));
}

TEST(OtherEnds, HaveKeysAsTheOthersDo) {
    EXPECT_THAT(
        problems_of("<key/><end usdt='db:done'/><end usdt='db:failed' as='failed' key='arg0'/>"),
        testing::HasSubstr("has no key"));
}

}  // namespace
}  // namespace lagtrap::settings::other_ends_test
