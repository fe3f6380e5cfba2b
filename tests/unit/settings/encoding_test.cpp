#include "settings/encoding.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::settings::encoding_test {
namespace {

using namespace std::string_view_literals;

// "LINE:COLUMN FOUND|EXPECTED|HINT"; empty if there is nothing wrong.
std::string problem_of(std::string_view text) {
    const LineIndex index(text);
    Diagnostics diagnostics;
    const bool good = check_encoding(index, diagnostics);
    const std::vector<Diagnostic> errors = diagnostics.take();
    EXPECT_EQ(good, errors.empty());
    EXPECT_LE(errors.size(), 1U);
    if (errors.empty()) return "";
    const Diagnostic& error = errors.front();
    return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.found +
           "|" + error.allowed + "|" + error.hint;
}

TEST(Encoding, NamesWideOnesAndHowToConvertThem) {
    const std::string utf16 =
        "0:0 the file is in UTF-16|expected UTF-8 text|iconv -f UTF-16 -t UTF-8 FILE converts it";
    const std::string utf32 =
        "0:0 the file is in UTF-32|expected UTF-8 text|iconv -f UTF-32 -t UTF-8 FILE converts it";
    for (const std::string_view text : {"\xff\xfe<\0"sv, "\xfe\xff\0<"sv, "<\0a\0"sv, "\0<\0a"sv})
        EXPECT_EQ(problem_of(text), utf16);
    for (const std::string_view text : {"\xff\xfe\0\0"sv, "\0\0\xfe\xff"sv})
        EXPECT_EQ(problem_of(text), utf32);
}

TEST(Encoding, MayBeDeclaredAsUtf8Only) {
    EXPECT_EQ(problem_of("<?xml version=\"1.0\" encoding=\"latin1\"?><a/>"),
              "1:21 the file declares the encoding \"latin1\"|expected UTF-8 text|convert the "
              "file, or remove the declaration");
    EXPECT_NE(problem_of("<?xml encoding='utf-80'?><a/>"), "");
    EXPECT_NE(problem_of("<?xml encoding='utf-'?><a/>"), "");
    EXPECT_NE(problem_of("<?xml encoding='utf_8'?><a/>"), "");
    for (const char* text :
         {"<?xml encoding='UTF-8'?><a/>", "<?xml encoding=\"utf-8\"?><a/>",
          "<?xml version=\"1.0\"?><a encoding=\"latin1\"/>", "<a encoding=\"latin1\"/>",
          "<?xml encoding?>", "<?xml encoding='?>", "<?xml encoding=''?>", ""})
        EXPECT_EQ(problem_of(text), "") << text;
}

TEST(Encoding, AcceptsTheFirstAndLastCharactersOfEachLength) {
    for (const char* text :
         {" \t\n\r~", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
          "\xee\x80\x80", "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(problem_of(text), "") << text;
}

TEST(Encoding, RefusesBytesThatAreNotUtf8) {
    const auto expected = [](const std::string& byte) {
        return "1:2 the byte 0x" + byte + " is not UTF-8|expected UTF-8 text|";
    };
    EXPECT_EQ(problem_of("a\x80"), expected("80"));
    EXPECT_EQ(problem_of("a\xc1\xbf"), expected("c1"));
    EXPECT_EQ(problem_of("a\xc2"), expected("c2"));
    EXPECT_EQ(problem_of("a\xc2 "), expected("c2"));
    EXPECT_EQ(problem_of("a\xe0\x9f\xbf"), expected("e0"));
    EXPECT_EQ(problem_of("a\xe2\x82"), expected("e2"));
    EXPECT_EQ(problem_of("a\xe2\x82 "), expected("e2"));
    EXPECT_EQ(problem_of("a\xed\xa0\x80"), expected("ed"));
    EXPECT_EQ(problem_of("a\xed\xbf\xbf"), expected("ed"));
    EXPECT_EQ(problem_of("a\xf0\x8f\xbf\xbf"), expected("f0"));
    EXPECT_EQ(problem_of("a\xf4\x90\x80\x80"), expected("f4"));
    EXPECT_EQ(problem_of("a\xf5\x80\x80\x80"), expected("f5"));
    EXPECT_EQ(problem_of("a\xff"), expected("ff"));
}

TEST(Encoding, RefusesControlCharactersAtTheirPlace) {
    EXPECT_EQ(problem_of("ab\n c\x01\x02"),
              "2:3 the character U+0001|expected text without control characters|");
    EXPECT_EQ(problem_of("ab\0"sv), "1:3 a NUL byte|expected text without control characters|");
    EXPECT_EQ(problem_of("\xef\xbf\xbe"),
              "1:1 the character U+FFFE|expected text without control characters|");
}

TEST(Encoding, KnowsTheCharactersOfXml) {
    for (const std::uint32_t code :
         {0x9U, 0xaU, 0xdU, 0x20U, 0xd7ffU, 0xe000U, 0xfffdU, 0x10000U, 0x10ffffU})
        EXPECT_TRUE(is_xml_character(code)) << code;
    for (const std::uint32_t code :
         {0x0U, 0x8U, 0xbU, 0xcU, 0xeU, 0x1fU, 0xd800U, 0xdfffU, 0xfffeU, 0xffffU, 0x110000U})
        EXPECT_FALSE(is_xml_character(code)) << code;
}

}  // namespace
}  // namespace lagtrap::settings::encoding_test
