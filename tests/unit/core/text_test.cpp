#include "core/text.hpp"

#include <array>

#include <gtest/gtest.h>

namespace lagtrap::test::text_test {
namespace {

using namespace std::string_literals;

TEST(Printable, LeavesTextAlone) {
    EXPECT_EQ(printable(""), "");
    EXPECT_EQ(printable("kworker/0:1 <&\"'>"), "kworker/0:1 <&\"'>");
    EXPECT_EQ(printable("\u00fcber \u20ac \U0001f600"), "\u00fcber \u20ac \U0001f600");
}

TEST(Printable, ShowsControlCharactersAsNumbers) {
    EXPECT_EQ(printable("a\0b\n\x1b[31m\x7f"s), R"(a\x00b\x0a\x1b[31m\x7f)");
    EXPECT_EQ(printable("\u009b31m"), R"(\xc2\x9b31m)");  // a two-byte control character that terminals obey
}

TEST(Printable, ShowsBytesThatAreNotUtf8AsNumbers) {
    EXPECT_EQ(printable("\xff"), R"(\xff)");
    EXPECT_EQ(printable("\xc3"), R"(\xc3)");                          // truncated
    EXPECT_EQ(printable("\xc0\xaf"), R"(\xc0\xaf)");                  // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // half of a surrogate pair
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // beyond U+10FFFF
}

TEST(Trimmed, TakesBlanksFromBothEnds) {
    EXPECT_EQ(trimmed(" \ta b\t "), "a b");
    EXPECT_EQ(trimmed("a\r\n"), "a\r\n");
    EXPECT_EQ(trimmed("a\r\n", " \r\n"), "a");
    EXPECT_EQ(trimmed(" \t"), "");
    EXPECT_EQ(trimmed(""), "");
}

TEST(EditDistance, CountsTheSmallestNumberOfChanges) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("flaw", "lawn"), 2U);
    EXPECT_EQ(edit_distance("threshold", "treshold"), 1U);
}

TEST(NearestName, ForgivesSlipsAlone) {
    const std::array<std::string_view, 3> known{"threshold", "stage", "scope"};
    EXPECT_EQ(nearest_name("treshhold", known), "threshold");
    EXPECT_EQ(nearest_name("stages", known), "stage");
    EXPECT_EQ(nearest_name("banana", known), "");
}

}  // namespace
}  // namespace lagtrap::test::text_test
