#include "daemon/control/request_fields.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::request_fields_test {
namespace {

using namespace std::chrono_literals;
using boost::json::object;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <typename T>
std::string refusal(const Result<T>& value) {
    return value ? "" : value.error().message;
}

TEST(RequestFields, NumbersAreWholeAndWithinTheirRange) {
    EXPECT_EQ(number_in({}, "n", 7, 1, 10).value(), 7);
    EXPECT_EQ(number_in({{"n", 1}}, "n", 7, 1, 10).value(), 1);
    EXPECT_EQ(number_in({{"n", 10}}, "n", 7, 1, 10).value(), 10);
    EXPECT_EQ(refusal(number_in({{"n", 11}}, "n", 7, 1, 10)),
              "\"n\" is 11; expected a whole number from 1 to 10");
    for (const boost::json::value& wrong :
         {boost::json::value(0), boost::json::value(1.5), boost::json::value("3")})
        EXPECT_THAT(refusal(number_in({{"n", wrong}}, "n", 7, 1, 10)),
                    HasSubstr("expected a whole number"));
}

TEST(RequestFields, AProcessNumberIsRequired) {
    EXPECT_EQ(pid_in({{"pid", 42}}, "calls").value(), 42U);
    EXPECT_EQ(refusal(pid_in({}, "calls")), "\"calls\" needs a \"pid\"");
    EXPECT_THAT(refusal(pid_in({{"pid", 0}}, "calls")), HasSubstr("from 1 to"));
    EXPECT_THAT(refusal(pid_in({{"pid", (1 << 22) + 1}}, "calls")), HasSubstr("to 4194304"));
}

TEST(RequestFields, TimesAreUpToADay) {
    EXPECT_EQ(time_in({}, "for_ns", 3s).value(), 3s);
    EXPECT_EQ(time_in({{"for_ns", 5}}, "for_ns").value(), 5ns);
    EXPECT_EQ(time_in({{"for_ns", 86'400'000'000'000}}, "for_ns").value(), 24h);
    EXPECT_NE(refusal(time_in({{"for_ns", 86'400'000'000'001}}, "for_ns")), "");
    EXPECT_NE(refusal(time_in({{"for_ns", -1}}, "for_ns")), "");
}

TEST(RequestFields, TheBudgetIsATenthOfACpuUnlessTheRequestSaysOtherwise) {
    EXPECT_DOUBLE_EQ(budget_in({}).value(), 0.1);
    EXPECT_DOUBLE_EQ(budget_in({{"budget_permille", 2'500}}).value(), 2.5);
    EXPECT_NE(refusal(budget_in({{"budget_permille", 0}})), "");
}

TEST(RequestFields, TextsAreLimited) {
    EXPECT_EQ(text_in({}, "function").value(), "");
    EXPECT_EQ(text_in({{"function", std::string(4096, 'f')}}, "function").value().size(), 4096U);
    EXPECT_EQ(refusal(text_in({{"function", std::string(4097, 'f')}}, "function")),
              "\"function\": expected a string of at most 4096 bytes");
    EXPECT_NE(refusal(text_in({{"function", 7}}, "function")), "");
}

TEST(RequestFields, ListsHaveNames) {
    EXPECT_THAT(texts_in({}, "only").value(), IsEmpty());
    EXPECT_THAT(texts_in({{"only", {"a", "b"}}}, "only").value(), ElementsAre("a", "b"));
    EXPECT_NE(refusal(texts_in({{"only", "a"}}, "only")), "");
    EXPECT_NE(refusal(texts_in({{"only", {"a", ""}}}, "only")), "");
    EXPECT_NE(refusal(texts_in({{"only", {"a", 7}}}, "only")), "");
    boost::json::array many(1000, boost::json::value("f"));
    EXPECT_TRUE(texts_in({{"only", many}}, "only"));
    many.emplace_back("f");
    EXPECT_EQ(refusal(texts_in({{"only", many}}, "only")),
              "\"only\": expected a list of at most 1000 names");
}

}  // namespace
}  // namespace lagtrap::daemon::request_fields_test
