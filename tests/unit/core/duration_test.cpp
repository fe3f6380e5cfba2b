#include "core/duration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::test::duration_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal_of(std::string_view text) {
    const auto duration = parse_duration(text);
    return duration ? "accepted" : duration.error().message;
}

TEST(ParseDuration, TakesANumberAndAUnit) {
    const std::pair<std::string_view, std::chrono::nanoseconds> good[] = {
        {"250us", 250us},
        {"50ms", 50ms},
        {"1.5s", 1500ms},
        {"2min", 2min},
        {"1h", 1h},
        {"30d", 24h * 30},
        {"7ns", 7ns},
        {"0s", 0s},
        {"0.4ns", 0ns},
        {"0.5ns", 1ns},
        {"0.1s", 100ms},
        {"007s", 7s},
        {"106751d", 24h * 106751}};
    for (const auto& [text, duration] : good) {
        const auto parsed = parse_duration(text);
        ASSERT_TRUE(parsed) << text << " " << parsed.error().message;
        EXPECT_EQ(*parsed, duration) << text;
    }
}

TEST(ParseDuration, SaysWhatIsWrong) {
    EXPECT_THAT(refusal_of(""), StartsWith("is empty"));
    EXPECT_THAT(refusal_of("-1s"), HasSubstr("is negative"));
    EXPECT_THAT(refusal_of("50"), StartsWith("has no unit"));
    EXPECT_THAT(refusal_of("5sx"), HasSubstr("known units are ns, us, ms, s, min, h, d"));
    EXPECT_THAT(refusal_of("5 s"), StartsWith("has an unknown unit"));
    EXPECT_THAT(refusal_of("1e3s"), StartsWith("has an unknown unit"));
    for (const auto* text : {"s", "+1s", " 1s", "nans", "infs", "."})
        EXPECT_THAT(refusal_of(text), StartsWith("does not begin with a number")) << text;
}

TEST(ParseDuration, SaysThatItIsTooLarge) {
    EXPECT_THAT(refusal_of("106752d"), StartsWith("is too large"));
    EXPECT_THAT(refusal_of("9223372036854775808ns"), StartsWith("is too large"));
    EXPECT_THAT(refusal_of(std::string(300, '9') + "d"), StartsWith("is too large"));
    EXPECT_THAT(refusal_of(std::string(700, '9') + "s"), StartsWith("is too large"));
    EXPECT_THAT(refusal_of(std::string(700, '9')), StartsWith("has no unit"));
}

TEST(ParseDuration, TakesWhatIsTooSmallForADouble) {
    const auto parsed = parse_duration("0." + std::string(700, '0') + "1s");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, 0ns);
}

TEST(FormatDuration, HasThreeDigitsAtEveryEdge) {
    const std::pair<std::int64_t, std::string_view> shown[] = {{0, "0 ns"},
                                                               {999, "999 ns"},
                                                               {1'000, "1.00 us"},
                                                               {9'994, "9.99 us"},
                                                               {9'996, "10.0 us"},
                                                               {99'949, "99.9 us"},
                                                               {99'951, "100 us"},
                                                               {999'499, "999 us"},
                                                               {999'500, "1.00 ms"},
                                                               {4'710'000, "4.71 ms"},
                                                               {999'499'999, "999 ms"},
                                                               {999'500'000, "1.00 s"},
                                                               {999'999'999, "1.00 s"},
                                                               {12'000'000'000, "12.0 s"},
                                                               {3'600'000'000'000, "3600 s"},
                                                               {-4'710'000, "-4.71 ms"}};
    for (const auto& [count, text] : shown)
        EXPECT_EQ(format_duration(std::chrono::nanoseconds(count)), text) << count;
}

TEST(FormatDuration, ShowsTheLongestForNumbersBeyondIt) {
    EXPECT_EQ(format_duration_ns(1'500'000), "1.50 ms");
    EXPECT_EQ(format_duration_ns(UINT64_MAX), format_duration(std::chrono::nanoseconds(INT64_MAX)));
}

TEST(ByteSize, TakesANumberAndAUnit) {
    EXPECT_EQ(parse_byte_size("512MiB").value(), 512ULL << 20);
    EXPECT_EQ(parse_byte_size("1.5KiB").value(), 1536U);
    EXPECT_EQ(parse_byte_size("10MB").value(), 10'000'000U);
    EXPECT_EQ(parse_byte_size("100B").value(), 100U);
    EXPECT_EQ(parse_byte_size("2GiB").value(), 2ULL << 30);
    EXPECT_EQ(parse_byte_size("3TiB").value(), 3ULL << 40);
    EXPECT_EQ(parse_byte_size("4kB").value(), 4'000U);
    EXPECT_EQ(parse_byte_size("5GB").value(), 5'000'000'000U);
    EXPECT_EQ(parse_byte_size("0.5B").value(), 1U);
    for (const std::string& text : {std::string("9000000TiB"), std::string(700, '9') + "B"}) {
        const auto size = parse_byte_size(text);
        ASSERT_FALSE(size) << text;
        EXPECT_THAT(size.error().message, StartsWith("is too large")) << text;
    }
}

TEST(ByteSize, IsShownInTheUnitThatSuits) {
    EXPECT_EQ(format_byte_size(0), "0 B");
    EXPECT_EQ(format_byte_size(1023), "1023 B");
    EXPECT_EQ(format_byte_size(1024), "1.00 KiB");
    EXPECT_EQ(format_byte_size(1536), "1.50 KiB");
    EXPECT_EQ(format_byte_size(10'234), "9.99 KiB");
    EXPECT_EQ(format_byte_size(10'235), "10.0 KiB");
    EXPECT_EQ(format_byte_size(1'048'524), "1023.9 KiB");
    EXPECT_EQ(format_byte_size(1'048'525), "1.00 MiB");
    EXPECT_EQ(format_byte_size(3ULL << 30), "3.00 GiB");
    EXPECT_EQ(format_byte_size(2000ULL << 40), "2000.0 TiB");
    EXPECT_EQ(format_byte_size(10'239), "10.0 KiB");
    EXPECT_EQ(format_byte_size((1 << 20) - 1), "1.00 MiB");
    EXPECT_EQ(format_byte_size(5ULL << 40), "5.00 TiB");
}

}  // namespace
}  // namespace lagtrap::test::duration_test
