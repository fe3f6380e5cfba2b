// Texts at the widths where their layout changes.
#include "cli/console/text_layout.hpp"

#include <gtest/gtest.h>

namespace lagtrap::cli::text_layout_test {
namespace {

TEST(TextLayout, CutsOnlyWhatDoesNotFit) {
    EXPECT_EQ(cut_end("abcdef", 6), "abcdef");
    EXPECT_EQ(cut_end("abcdef", 5), "ab...");
    EXPECT_EQ(cut_end("abcdef", 4), "a...");
    EXPECT_EQ(cut_end("abcdef", 3), "abc");
    EXPECT_EQ(cut_end("abcdef", 0), "");
    EXPECT_EQ(cut_end("äöüß", 4), "äöüß");
    EXPECT_EQ(cut_end("äöüß", 3), "äöü");
    EXPECT_EQ(cut_middle("0123456789", 10), "0123456789");
    EXPECT_EQ(cut_middle("0123456789", 9), "01...6789");
    EXPECT_EQ(cut_middle("0123456789", 6), "0...89");
    EXPECT_EQ(cut_middle("0123456789", 5), "01...");
    EXPECT_EQ(pad_left("abcd", 4), "abcd");
    EXPECT_EQ(pad_left("abcde", 4), "a...");
    EXPECT_EQ(pad_right("ä", 3), "ä  ");
    EXPECT_EQ(pad_right("abcde", 4), "a...");
}

TEST(TextLayout, DrawsTheLeastAndTheMost) {
    EXPECT_EQ(percent(0), "0 %");
    EXPECT_EQ(percent(0.0099), "<1 %");
    EXPECT_EQ(percent(0.01), "1 %");
    EXPECT_EQ(percent(1), "100 %");
    EXPECT_EQ(bar(0, 10), "");
    EXPECT_EQ(bar(0.001, 10), "#");
    EXPECT_EQ(bar(0.25, 8), "##");
    EXPECT_EQ(bar(1.5, 4), "####");
    EXPECT_EQ(stretch(0, 1, 4), "####");
    EXPECT_EQ(stretch(0, 0, 4), "#   ");
    EXPECT_EQ(stretch(1, 0, 4), "   #");
    EXPECT_EQ(stretch(0.25, 0.5, 4), " ## ");
    EXPECT_EQ(stretch(2, 1, 3), "  #");
    EXPECT_EQ(stretch(-1, 0.5, 3), "#  ");
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1000), "1,000");
    EXPECT_EQ(with_commas(999'999), "999,999");
    EXPECT_EQ(with_commas(1'000'000), "1,000,000");
    EXPECT_EQ(counted(0, "run", "runs"), "0 runs");
    EXPECT_EQ(counted(1, "run", "runs"), "1 run");
    EXPECT_EQ(counted(1000, "run", "runs"), "1,000 runs");
}

TEST(TextLayout, WrapsWordsThatDoNotFit) {
    EXPECT_EQ(wrap_words("", 5, 0), "");
    EXPECT_EQ(wrap_words("aa bb", 5, 0), "aa bb\n");
    EXPECT_EQ(wrap_words("aa bb", 4, 0), "aa\nbb\n");
    EXPECT_EQ(wrap_words("aa bb", 7, 2), "  aa bb\n");
    EXPECT_EQ(wrap_words("aa bb", 6, 2), "  aa\n  bb\n");
    EXPECT_EQ(wrap_words("abcd", 4, 0), "abcd\n");
    EXPECT_EQ(wrap_words("abcde", 4, 0), "abcd\ne\n");
    EXPECT_EQ(wrap_words("x abcdefghi y", 4, 0), "x\nabcd\nefgh\ni y\n");
    EXPECT_EQ(wrap_words("ab", 2, 2), "  a\n  b\n");
    EXPECT_EQ(wrap_words("a ", 4, 0), "a\n");
}

TEST(TextLayout, WrapsListsAfterTheirCommas) {
    EXPECT_EQ(wrap_list({}, 10, 0), "");
    EXPECT_EQ(wrap_list({"a"}, 10, 1), " a\n");
    EXPECT_EQ(wrap_list({"a", "b"}, 4, 0), "a, b\n");
    EXPECT_EQ(wrap_list({"a", "b"}, 3, 0), "a,\nb\n");
    EXPECT_EQ(wrap_list({"a", "b", "c"}, 8, 2), "  a, b,\n  c\n");
    EXPECT_EQ(wrap_list({"abcdef"}, 7, 0), "abcdef\n");
    EXPECT_EQ(wrap_list({"abcdef"}, 6, 0), "ab...\n");
}

TEST(TextLayout, PathsKeepTheirEndsWhileTheyFit) {
    EXPECT_EQ(join_path({}, 10), "");
    EXPECT_EQ(join_path({"abc"}, 3), "abc");
    EXPECT_EQ(join_path({"abcdef"}, 5), "ab...");
    EXPECT_EQ(join_path({"a", "b"}, 5), "a > b");
    EXPECT_EQ(join_path({"a", "b"}, 4), "b");
    EXPECT_EQ(join_path({"aa", "bb", "cc"}, 12), "aa > bb > cc");
    EXPECT_EQ(join_path({"aa", "bb", "cc"}, 11), "... > cc");
    EXPECT_EQ(join_path({"aaaa", "bb", "cc"}, 13), "... > bb > cc");
    EXPECT_EQ(join_path({"a", "bbbbbbbbbb", "c"}, 12), "a > ... > c");
    EXPECT_EQ(join_path({"a", "bbbbbbbbbb", "c"}, 11), "a > ... > c");
    EXPECT_EQ(join_path({"a", "bbbbbbbbbb", "c"}, 10), "... > c");
    const std::vector<std::string> five{"a", "b", "c", "d", "e"};
    EXPECT_EQ(join_path(five, 17), "a > b > c > d > e");
    EXPECT_EQ(join_path(five, 16), "a > ... > d > e");
    EXPECT_EQ(join_path(five, 15), "a > ... > d > e");
    EXPECT_EQ(join_path(five, 14), "... > d > e");
    EXPECT_EQ(join_path(five, 11), "... > d > e");
    EXPECT_EQ(join_path(five, 10), "... > e");
    EXPECT_EQ(join_path(five, 7), "... > e");
    EXPECT_EQ(join_path(five, 6), "e");
}

}  // namespace
}  // namespace lagtrap::cli::text_layout_test
