#include "settings/place.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::settings::place_test {
namespace {

Place at(std::uint32_t line, std::uint32_t column) { return {line, column}; }

TEST(LineIndex, CountsLinesAndCharacters) {
    const LineIndex index("ab\r\nc\xc3\xa9\n");
    EXPECT_EQ(index.place_of(0), at(1, 1));
    EXPECT_EQ(index.place_of(3), at(1, 4));
    EXPECT_EQ(index.place_of(4), at(2, 1));
    EXPECT_EQ(index.place_of(5), at(2, 2));
    EXPECT_EQ(index.place_of(7), at(2, 3));
    EXPECT_EQ(index.place_of(8), at(3, 1));
    EXPECT_EQ(index.place_of(9), at(3, 1));
    EXPECT_EQ(LineIndex("").place_of(0), at(1, 1));
}

TEST(LineIndex, FindsCharactersAndTheEndsOfLines) {
    const LineIndex index("ab\r\nc\xc3\xa9\n");
    EXPECT_EQ(index.offset_of(at(1, 1)), 0U);
    EXPECT_EQ(index.offset_of(at(1, 2)), 1U);
    EXPECT_EQ(index.offset_of(at(1, 3)), 2U);
    EXPECT_EQ(index.offset_of(at(1, 99)), 2U);
    EXPECT_EQ(index.offset_of(at(2, 0)), 4U);
    EXPECT_EQ(index.offset_of(at(2, 2)), 5U);
    EXPECT_EQ(index.offset_of(at(2, 3)), 7U);
    EXPECT_EQ(index.offset_of(at(3, 1)), 8U);
    EXPECT_EQ(index.offset_of(at(0, 0)), 8U);
    EXPECT_EQ(index.offset_of(at(4, 1)), 8U);
}

TEST(LineIndex, HasLinesWithoutTheirEnds) {
    const LineIndex index("ab\r\nc\n\r\nd");
    EXPECT_EQ(index.line(0), "");
    EXPECT_EQ(index.line(1), "ab");
    EXPECT_EQ(index.line(2), "c");
    EXPECT_EQ(index.line(3), "");
    EXPECT_EQ(index.line(4), "d");
    EXPECT_EQ(index.line(5), "");
}

TEST(LineIndex, IsExactInLongLinesToo) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "\xc3\xa9";
    text += "\nx";
    const LineIndex index(text);
    for (const std::uint32_t character : {0U, 127U, 128U, 129U, 255U, 256U, 299U, 300U}) {
        EXPECT_EQ(index.place_of(2 * character), at(1, character + 1));
        EXPECT_EQ(index.offset_of(at(1, character + 1)), 2 * character);
    }
    EXPECT_EQ(index.place_of(601), at(2, 1));
    EXPECT_EQ(index.offset_of(at(2, 1)), 601U);
    EXPECT_EQ(index.offset_of(at(2, 2)), 602U);
    const std::string whole(256, 'a');
    EXPECT_EQ(LineIndex(whole).place_of(256), at(1, 257));
    EXPECT_EQ(LineIndex(whole).offset_of(at(1, 257)), 256U);
}

}  // namespace
}  // namespace lagtrap::settings::place_test
