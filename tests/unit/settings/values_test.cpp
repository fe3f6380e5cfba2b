#include "settings/values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::settings::values_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;

AttributeSpec spec_of(ValueKind kind, std::uint64_t low = 0, std::uint64_t high = 0,
                      std::string_view choices = {}) {
    return {"attribute", kind, Presence::Optional, "", choices, low, high, "meaning"};
}

bool is_valid(const AttributeSpec& spec, const std::string& text) {
    std::uint64_t number = 0;
    return !check_value(spec, text, number);
}

std::string hint_for(const AttributeSpec& spec, const std::string& text) {
    std::uint64_t number = 0;
    const auto problem = check_value(spec, text, number);
    return problem ? problem->hint : "valid";
}

// Of an invalid value: 4711, which was there before.
std::uint64_t number_of(const AttributeSpec& spec, const std::string& text) {
    std::uint64_t number = 4711;
    static_cast<void>(check_value(spec, text, number));
    return number;
}

std::string letters(std::size_t count) { return std::string(count, 'a'); }

TEST(Values, AreValidUpToTheirLimits) {
    struct Case {
        ValueKind kind;
        std::vector<std::string> valid, invalid;
    };
    const std::vector<Case> cases{
        {ValueKind::Name,
         {"a", "_", "Z9-_", letters(63)},
         {"", "9a", "-a", "a b", "a.b", "\xc3\xa4", letters(64)}},
        {ValueKind::Names,
         {"a", " a  b ", "b a"},
         {"", " ", "a a", "a b a", "a 9", "a " + letters(64)}},
        {ValueKind::Text,
         {"x", letters(1000), "\xc3\xa4 \x20"},
         {"", letters(1001), "a\tb", "a\x1f", "a\x7f"}},
        {ValueKind::Path,
         {"/", "/a b", "/" + letters(4094)},
         {"", "a", "./a", "/" + letters(4095), "/a\nb", "/a\x7f"}},
        {ValueKind::SocketPath, {"/a", "/" + letters(106)}, {"a", "/" + letters(107)}},
        {ValueKind::Program,
         {"/bin/a", "build-id:0123456789abcdef", "build-id:" + std::string(40, 'f'),
          "package:redis-server", "*/a*", "/opt/*/a?"},
         {"build-id:0123456789abcde", "build-id:0123456789abcdef0", "build-id:01234567",
          "build-id:" + std::string(42, 'f'), "build-id:0123456789ABCDEF",
          "build-id:0123456789abcdeg", "package:", "package:/etc", "*", "/opt/*", "a*", "*/?",
          "/bin/a\n"}},
        {ValueKind::Pattern, {"*", letters(512)}, {"", letters(513), "a\nb"}},
        {ValueKind::Label,
         {"a=b", "a=*", "a=", "a=" + letters(510)},
         {"", "a", "=b", "a=" + letters(511), "a=\n"}},
        {ValueKind::Usdt,
         {"a:b", "a-b:c.d", "$a_:_b$", letters(255) + ":" + letters(256)},
         {"", ":", "a:", ":b", "a", "a:b:c", "a b:c", "a:b c", letters(256) + ":" + letters(256)}},
        {ValueKind::Tracepoint,
         {"sched:sched_switch", "a-b:c"},
         {"a.b:c", "a:b.c", "a:", ":b", "ab"}},
        {ValueKind::Symbol,
         {"f", "void f(int)", letters(4096)},
         {"", " f", "f ", "f\tg", letters(4097)}},
        {ValueKind::Expression,
         {"a+", "^x$", letters(1024)},
         {"", "a(", "[", letters(1025), "a\n"}},
        {ValueKind::Argument, {"arg0", "_a9", letters(63)}, {"", "9a", "a-b", letters(64), "a,b"}},
        {ValueKind::Key,
         {"arg0", "a,b", letters(63) + ",b"},
         {"", "a,", ",b", "a,b,c", letters(64) + ",b", "a, b"}},
        {ValueKind::User,
         {"root", "0", "a-", letters(255)},
         {"", "-a", "a:b", "a/b", "a b", "a,b", letters(256), "a\n"}},
        {ValueKind::Group, {"adm", letters(255)}, {"", "-a", letters(256)}},
    };
    for (const Case& one : cases) {
        for (const std::string& text : one.valid)
            EXPECT_TRUE(is_valid(spec_of(one.kind), text))
                << static_cast<int>(one.kind) << " " << text;
        for (const std::string& text : one.invalid)
            EXPECT_FALSE(is_valid(spec_of(one.kind), text))
                << static_cast<int>(one.kind) << " " << text;
    }
}

TEST(Values, NumbersIncludeBothEndsOfTheirRange) {
    const AttributeSpec duration = spec_of(ValueKind::Duration, 10 * ms, 2000 * ms);
    EXPECT_EQ(number_of(duration, "10ms"), 10 * ms);
    EXPECT_EQ(number_of(duration, "2s"), 2000 * ms);
    for (const char* text :
         {"9999us", "2001ms", "", "10", "10 ms", "1h", "99999999999999999999999h"})
        EXPECT_EQ(number_of(duration, text), 4711U) << text;
    const AttributeSpec size = spec_of(ValueKind::ByteSize, 1 << 20, 4 << 20);
    EXPECT_EQ(number_of(size, "1MiB"), 1U << 20);
    EXPECT_EQ(number_of(size, "4MiB"), 4U << 20);
    for (const char* text : {"1023KiB", "4097KiB", "", "1Mib", "-1MiB"})
        EXPECT_EQ(number_of(size, text), 4711U) << text;
    const AttributeSpec count = spec_of(ValueKind::Count, 3, 12);
    EXPECT_EQ(number_of(count, "3"), 3U);
    EXPECT_EQ(number_of(count, "12"), 12U);
    for (const char* text : {"2", "13", "", "+3", "-3", "3 ", "3a", "18446744073709551619"})
        EXPECT_EQ(number_of(count, text), 4711U) << text;
}

TEST(Values, SharesAreMillionths) {
    const AttributeSpec share = spec_of(ValueKind::Share, 10, 1'000'000);
    EXPECT_EQ(number_of(share, "12.5%"), 125'000U);
    EXPECT_EQ(number_of(share, "0.001%"), 10U);
    EXPECT_EQ(number_of(share, "100%"), 1'000'000U);
    EXPECT_EQ(number_of(share, "1.05%"), 10'500U);
    EXPECT_EQ(number_of(share, "000000001%"), 10'000U);
    for (const char* text : {"0.0005%", "0.0001%", "100.001%", "0%", "12.5", "%", ".5%", "5.%",
                             "1.2345%", "1,5%", "-1%", "0000000001%", "1.-1%"})
        EXPECT_EQ(number_of(share, text), 4711U) << text;
    EXPECT_EQ(hint_for(share, "12.5"), "write a share with a % sign");
    EXPECT_EQ(hint_for(share, "101%"), "");
}

TEST(Values, RangesHaveTheShorterSideAsNumber) {
    const AttributeSpec range = spec_of(ValueKind::DurationRange, 100 * ms, 20'000 * ms);
    EXPECT_EQ(number_of(range, "4s"), 4000 * ms);
    EXPECT_EQ(number_of(range, "4s..20s"), 4000 * ms);
    EXPECT_EQ(number_of(range, "4s..4s"), 4000 * ms);
    for (const char* text : {"20s..4s", "4s..21s", "99ms..4s", "4s..", "..4s", "4s...5s"})
        EXPECT_EQ(number_of(range, text), 4711U) << text;
    EXPECT_EQ(hint_for(range, "5s..4s"), "put the shorter one first");
    EXPECT_EQ(longest_of_range("4s..20s"), 20'000 * ms);
    EXPECT_EQ(longest_of_range("4s"), std::nullopt);
}

TEST(Values, ChoicesAreListedOnceAndNoneStandsAlone) {
    const AttributeSpec choice = spec_of(ValueKind::Choice, 0, 0, "deadline|end|none");
    EXPECT_TRUE(is_valid(choice, "none"));
    EXPECT_TRUE(is_valid(choice, "deadline"));
    for (const char* text : {"", "dead", "deadline|end", "end none"})
        EXPECT_FALSE(is_valid(choice, text)) << text;
    EXPECT_THAT(hint_for(choice, "deadlin"), HasSubstr("deadline"));
    const AttributeSpec list = spec_of(ValueKind::ChoiceList, 0, 0, "stacks|stages|none");
    for (const char* text : {"stacks", "none", "stages stacks"})
        EXPECT_TRUE(is_valid(list, text)) << text;
    EXPECT_EQ(hint_for(list, "stages stacks stages"), "stages is listed twice");
    EXPECT_EQ(hint_for(list, "none stacks"), "none cannot be combined with others");
    EXPECT_THAT(hint_for(list, "stages stack"), HasSubstr("stacks"));
    EXPECT_FALSE(is_valid(list, ""));
    EXPECT_EQ(hint_for(spec_of(ValueKind::Names), "b a b"), "b is listed twice");
}

TEST(Values, AddressesHaveAHostAndNoSecrets) {
    const AttributeSpec url = spec_of(ValueKind::Url);
    for (const std::string& text :
         {std::string("https://a"), std::string("http://a.b-c_d:1/x"),
          std::string("https://a:65535"), std::string("https://[::1]"),
          std::string("https://[fe80::1.2.3.4]:8080/"), "https://a/" + letters(1990)})
        EXPECT_EQ(hint_for(url, text), "valid") << text.substr(0, 40);
    for (const std::string& text : {std::string("https://"),       std::string("https:///x"),
                                    std::string("https://:80"),    std::string("ftp://a"),
                                    std::string("socks5://a"),     std::string("a"),
                                    std::string("https://a:0"),    std::string("https://a:65536"),
                                    std::string("https://a:"),     std::string("https://a:8x"),
                                    std::string("https://[::1"),   std::string("https://[x]"),
                                    std::string("https://[::1]8"), std::string("https://[]"),
                                    std::string("https://a,b"),    std::string("https://u:p@a"),
                                    std::string("https://a?b"),    std::string("https://a#b"),
                                    std::string("https://a b"),    std::string("https://a/\n"),
                                    "https://a/" + letters(1991)})
        EXPECT_NE(hint_for(url, text), "valid") << text.substr(0, 40);
    EXPECT_THAT(hint_for(url, "https://a/" + letters(1991)), HasSubstr("2001 bytes"));
    EXPECT_THAT(hint_for(url, "https://u:p@a"), HasSubstr("passwords"));
    for (const char* text : {"http://a", "https://a", "socks5://a", "socks5h://a:1080"})
        EXPECT_TRUE(is_valid(spec_of(ValueKind::ProxyUrl), text)) << text;
    EXPECT_FALSE(is_valid(spec_of(ValueKind::ProxyUrl), "socks4://a"));
}

TEST(Values, ArgumentsAreNumbersOfAtMostNineDigits) {
    EXPECT_EQ(argument_number("arg0"), 0U);
    EXPECT_EQ(argument_number("arg17"), 17U);
    EXPECT_EQ(argument_number("arg999999999"), 999'999'999U);
    for (const char* text : {"arg", "arg1000000000", "arg-1", "arg1a", "Arg1", "a1", "pid"})
        EXPECT_EQ(argument_number(text), std::nullopt) << text;
}

TEST(Values, WordsAreSplitAtSpaces) {
    EXPECT_THAT(words_of("  a bc  d "), ElementsAre("a", "bc", "d"));
    EXPECT_THAT(words_of("a"), ElementsAre("a"));
    EXPECT_THAT(words_of("  "), IsEmpty());
    EXPECT_THAT(words_of("a\tb"), ElementsAre("a\tb"));
}

}  // namespace
}  // namespace lagtrap::settings::values_test
