#include "core/text.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

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
    EXPECT_EQ(printable("\u009b31m"),
              R"(\xc2\x9b31m)");  // a two-byte control character that terminals obey
}

TEST(Printable, ShowsBytesThatAreNotUtf8AsNumbers) {
    EXPECT_EQ(printable("\xff"), R"(\xff)");
    EXPECT_EQ(printable("\xc3"), R"(\xc3)");                          // truncated
    EXPECT_EQ(printable("\xc3("), R"(\xc3()");                        // without its second byte
    EXPECT_EQ(printable("\xe2\x82("), R"(\xe2\x82()");                // without its third
    EXPECT_EQ(printable("\xe2\u00ac"), "\\xe2\u00ac");                // without its second
    EXPECT_EQ(printable("\xc0\xaf"), R"(\xc0\xaf)");                  // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // half of a surrogate pair
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // beyond U+10FFFF
}

// The bytes of a code point, or of an overlong form if `length` is more than it needs.
std::string encoded(std::uint32_t code, std::size_t length) {
    if (length == 1) return std::string(1, static_cast<char>(code));
    constexpr std::uint32_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    std::string bytes(length, '\0');
    for (std::size_t i = length - 1; i > 0; --i, code >>= 6)
        bytes[i] = static_cast<char>(0x80 | (code & 0x3f));
    bytes[0] = static_cast<char>(marks[length] | code);
    return bytes;
}

std::size_t length_of(std::uint32_t code) {
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

TEST(Printable, KeepsEachCharacterThatIsNoControlAndNoHalf) {
    const auto is_kept = [](std::uint32_t code) {
        const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        const bool half = code >= 0xd800 && code < 0xe000;
        return !control && !half && code % 0x10000 < 0xfffe && code <= 0x10ffff;
    };
    std::vector<std::uint32_t> codes;
    for (const std::uint32_t edge :
         {0x0U, 0x20U, 0x7fU, 0x80U, 0xa0U, 0x800U, 0xd800U, 0xe000U, 0xfffeU, 0x10000U, 0x1fffeU,
          0x20000U, 0x10fffeU, 0x110000U, 0x1ffffeU})
        for (std::uint32_t code = edge < 2 ? 0 : edge - 2; code < edge + 2; ++code)
            codes.push_back(code);
    for (std::uint32_t code = 0; code < 0x110000; code += 211) codes.push_back(code);
    for (const std::uint32_t code : codes) {
        const std::string bytes = encoded(code, length_of(code));
        EXPECT_EQ(printable(bytes) == bytes, is_kept(code)) << std::hex << code;
        EXPECT_EQ(printable("a" + bytes + "b").size(),
                  is_kept(code) ? bytes.size() + 2 : 4 * bytes.size() + 2);
        for (std::size_t longer = length_of(code) + 1; longer <= 4; ++longer) {
            const std::string overlong = encoded(code, longer);
            EXPECT_EQ(printable(overlong).size(), 4 * overlong.size()) << std::hex << code;
        }
        if (bytes.size() > 1) {
            EXPECT_EQ(printable(bytes.substr(0, bytes.size() - 1)).size(), 4 * (bytes.size() - 1));
        }
    }
}

TEST(Hexadecimal, HasTwoDigitsForEachByte) {
    EXPECT_EQ(hexadecimal(""), "");
    EXPECT_EQ(hexadecimal("\x00\x09\x0a\x10\x7f\x80\xff"s), "00090a107f80ff");
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
