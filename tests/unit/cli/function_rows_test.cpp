#include "cli/calls/function_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/bundles/delay_classes.hpp"
#include "cli/status/limited_party.hpp"

namespace lagtrap::cli::function_rows_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr std::uint64_t ms = 1'000'000;
const CallsLook plain{Paint(false), 80, false, false};

std::vector<FunctionRow> rows() {
    return {{"parse", "parse.c:7", 10, 30 * ms, 9 * ms, {"main"}, true},
            {"read", "", 5, 60 * ms, 20 * ms, {"main", "load"}, true},
            {"hash", "", 1'000'000, 0, 0, {}, false}};
}

TEST(FunctionRows, MostOwnTimeComesFirstAndCountedOnesHaveNoTimes) {
    const std::string text = own_time_rows(rows(), 120 * ms, 10, plain);
    const std::size_t read = text.find("read"), parse = text.find("parse"),
                      hash = text.find("hash");
    EXPECT_LT(read, parse);
    EXPECT_LT(parse, hash);
    EXPECT_THAT(text, HasSubstr("   50 %    60.0 ms           5    12.0 ms    20.0 ms  read\n"));
    EXPECT_THAT(
        text,
        HasSubstr("   25 %    30.0 ms          10    3.00 ms    9.00 ms  parse  parse.c:7\n"));
    EXPECT_THAT(text, HasSubstr("      -          -   1,000,000          -          -  hash\n"));
    EXPECT_THAT(own_time_rows(rows(), 120 * ms, 2, plain), Not(HasSubstr("hash")));
    EXPECT_THAT(own_time_rows(rows(), 0, 1, plain), HasSubstr("    0 %"));
}

TEST(FunctionRows, TheLongestCallsHaveTheirPaths) {
    const std::string text = longest_rows(rows(), plain);
    EXPECT_LT(text.find("main > load > read"), text.find("main > parse"));
    EXPECT_THAT(text, HasSubstr("     20.0 ms  main > load > read\n"));
    EXPECT_THAT(text, Not(HasSubstr("hash")));
    EXPECT_EQ(longest_rows({rows()[2]}, plain), "");
}

TEST(FunctionRows, ALineHasTheNameOfItsFile) {
    EXPECT_EQ(source_place("/src/main.c", 12), "main.c:12");
    EXPECT_EQ(source_place("main.c", 12), "main.c:12");
    EXPECT_EQ(source_place("/src/main.c", 0), "");
    EXPECT_EQ(source_place("", 12), "");
}

TEST(DelayClasses, HaveTheNumbersOfAStatusAnswer) {
    const boost::json::object event{{"delays_mostly",
                                     {{"on_cpu", 1},
                                      {"runnable", 2},
                                      {"throttled", 3},
                                      {"handed_over", 4},
                                      {"not_known", 5},
                                      {"blocked", {6, 7, -8}}}}};
    const auto classes = delay_classes(event);
    ASSERT_GT(classes.size(), 8U);
    EXPECT_THAT(classes[0], Pair("on a CPU", 1));
    EXPECT_THAT(classes[1], Pair("for a CPU", 2));
    EXPECT_THAT(classes[2], Pair("CPU quota", 3));
    EXPECT_THAT(classes[3], Pair("between threads", 4));
    EXPECT_THAT(classes[4], Pair("not known", 5));
    EXPECT_THAT(classes[5], Pair("in the kernel", 6));
    EXPECT_THAT(classes[6], Pair("lock (futex)", 7));
    EXPECT_THAT(classes[7], Pair("events", 0));
    EXPECT_THAT(classes[8], Pair("input", 0));
    EXPECT_EQ(delay_classes({}).size(), classes.size());
}

TEST(LimitedParty, IsAUserAContainerOrUnknown) {
    EXPECT_THAT(limited_party({{"uid", 0}, {"namespace", nullptr}}), HasSubstr("user root"));
    EXPECT_EQ(limited_party({{"uid", nullptr}, {"namespace", 4026532841U}}),
              "container 4026532841");
    EXPECT_EQ(limited_party({{"uid", nullptr}, {"namespace", nullptr}}), "unknown users");
    EXPECT_EQ(limited_party({}), "unknown users");
}

}  // namespace
}  // namespace lagtrap::cli::function_rows_test
