// The argument forms that compilers write for sys/sdt.h on x86-64, and invalid ones.
#include "binaries/usdt/usdt_arguments.hpp"

#include <gmock/gmock.h>

namespace lagtrap::binaries::usdt_arguments_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum : std::uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r12 = 12, r15 = 15 };

struct Expected {
    const char* text;
    std::uint8_t bytes;
    bool is_signed;
    std::uint8_t base;
    std::uint8_t index = no_register;
    std::uint8_t scale_shift = 0;
    std::int64_t number = 0;
};

void check(const Expected& expected, UsdtPlace place) {
    const UsdtArgument seen = parse_usdt_argument(expected.text);
    EXPECT_EQ(seen.place, place) << expected.text;
    EXPECT_EQ(seen.bytes, expected.bytes) << expected.text;
    EXPECT_EQ(seen.is_signed, expected.is_signed) << expected.text;
    EXPECT_EQ(seen.base, expected.base) << expected.text;
    EXPECT_EQ(seen.index, expected.index) << expected.text;
    EXPECT_EQ(seen.scale_shift, expected.scale_shift) << expected.text;
    EXPECT_EQ(seen.number, expected.number) << expected.text;
    EXPECT_TRUE(is_sound(seen)) << expected.text;
}

TEST(UsdtArgument, InARegister) {
    for (const Expected& expected : std::initializer_list<Expected>{{"8@%rax", 8, false, rax},
                                                                    {"-8@%rbp", 8, true, rbp},
                                                                    {"-4@%edi", 4, true, rdi},
                                                                    {"4@%esi", 4, false, rsi},
                                                                    {"-2@%cx", 2, true, rcx},
                                                                    {"2@%dx", 2, false, rdx},
                                                                    {"1@%bl", 1, false, rbx},
                                                                    {"-1@%sil", 1, true, rsi},
                                                                    {"8@%rsp", 8, false, rsp},
                                                                    {"8@%r8", 8, false, r8},
                                                                    {"-4@%r12d", 4, true, r12},
                                                                    {"2@%r15w", 2, false, r15},
                                                                    {"1@%r15b", 1, false, r15},
                                                                    // Part of a register.
                                                                    {"4@%rax", 4, false, rax},
                                                                    // Reads no more than the named
                                                                    // part of a register.
                                                                    {"8@%eax", 4, false, rax},
                                                                    {"%rdx", 8, false, rdx}})
        check(expected, UsdtPlace::Register);
    EXPECT_EQ(parse_usdt_argument("1@%ah").first_bit, 8);
    EXPECT_EQ(parse_usdt_argument("1@%ah").base, rax);
    EXPECT_EQ(parse_usdt_argument("1@%al").first_bit, 0);
}

TEST(UsdtArgument, InMemory) {
    for (const Expected& expected :
         std::initializer_list<Expected>{{"8@-24(%rbp)", 8, false, rbp, no_register, 0, -24},
                                         {"-4@(%rsp)", 4, true, rsp},
                                         {"1@0x10(%r12)", 1, false, r12, no_register, 0, 16},
                                         {"2@8+16(%rax)", 2, false, rax, no_register, 0, 24},
                                         {"2@+8-16-1(%rax)", 2, false, rax, no_register, 0, -9},
                                         {"8@(%rax,%rbx,8)", 8, false, rax, rbx, 3},
                                         {"8@(%rax,%rbx)", 8, false, rax, rbx, 0},
                                         {"-2@-8(%rdx,%r15,2)", 2, true, rdx, r15, 1, -8},
                                         {"4@4(%rsp,%rcx,4)", 4, false, rsp, rcx, 2, 4},
                                         {"8@4096(,%rdi,1)", 8, false, no_register, rdi, 0, 4096}})
        check(expected, UsdtPlace::Memory);
}

TEST(UsdtArgument, AConstantIsCutToItsSize) {
    const auto value_of = [](const char* text) {
        const UsdtArgument seen = parse_usdt_argument(text);
        EXPECT_EQ(seen.place, UsdtPlace::Constant) << text;
        EXPECT_TRUE(is_sound(seen)) << text;
        return seen.number;
    };
    EXPECT_EQ(value_of("8@$5"), 5);
    EXPECT_EQ(value_of("-4@$-5"), -5);
    EXPECT_EQ(value_of("4@$-1"), 0xffffffffLL);
    EXPECT_EQ(value_of("-4@$4294967295"), -1);
    EXPECT_EQ(value_of("1@$300"), 44);
    EXPECT_EQ(value_of("-1@$200"), -56);
    EXPECT_EQ(value_of("8@$0xffffffffffffffff"), -1);
    EXPECT_EQ(value_of("8@$18446744073709551615"), -1);
    EXPECT_EQ(value_of("8@$-9223372036854775808"), INT64_MIN);
}

TEST(UsdtArgument, ThatIsNotReadSaysWhatItIs) {
    const auto place_of = [](std::string_view text) {
        const UsdtArgument seen = parse_usdt_argument(text);
        EXPECT_FALSE(seen.readable()) << text;
        EXPECT_TRUE(is_sound(seen)) << text;
        EXPECT_THAT(why_unreadable(seen, text), HasSubstr(text));
        return seen.place;
    };
    for (const char* text : {"8f@%xmm0", "4f@-8(%rbp)", "8@%xmm15", "-4@%ymm0", "8f@%rax"})
        EXPECT_EQ(place_of(text), UsdtPlace::FloatingPoint) << text;
    for (const char* text : {"8@%fs:-8", "4@%fs:name@tpoff", "8@%gs:0(%rax)"})
        EXPECT_EQ(place_of(text), UsdtPlace::ThreadVariable) << text;
    for (const char* text : {"8@counter(%rip)", "4@8+counter(%rip)", "4@16(%rip)"})
        EXPECT_EQ(place_of(text), UsdtPlace::GlobalVariable) << text;
    for (const char* text : {"16@%rax", "3@%eax", "0@%al", "-0@%al", "4294967295@%eax"})
        EXPECT_EQ(place_of(text), UsdtPlace::OddSize) << text;
    for (const char* text : {"",
                             "@",
                             "8@",
                             "8@$",
                             "8@$x",
                             "8@$5x",
                             "8@%",
                             "8@%rzx",
                             "8@%r16",
                             "8@%r7",
                             "8@%r08",
                             "8@%r12q",
                             "8@rax",
                             "8@%rax ",
                             "8@123",
                             "8@(",
                             "8@()",
                             "8@(%rax",
                             "8@%rax)",
                             "8@(%rax,)",
                             "8@(%rax,%rbx,)",
                             "8@(%rax,%rbx,3)",
                             "8@(%rax,%rbx,16)",
                             "8@(%rax,%rbx,8,1)",
                             "8@(%rax,%rsp,1)",
                             "8@(%eax)",
                             "8@(%rax,%ebx)",
                             "8@(,)",
                             "8@x(%rax)",
                             "8@8+(%rax)",
                             "8@8*2(%rax)",
                             "8@--8(%rax)",
                             "8@99999999999999999999(%rax)",
                             "8@table(,%rax,8)",
                             "8@[x0, 16]",
                             "x@%rax",
                             "-@%rax",
                             "--8@%rax",
                             "8ff@%rax",
                             "99999999999@%rax",
                             "8@@%rax",
                             "8@DWORD PTR [rax]"})
        EXPECT_EQ(place_of(text), UsdtPlace::Unknown) << text;
}

TEST(UsdtArgument, SaysWhyItCannotBeRead) {
    const auto why = [](const char* text) {
        return why_unreadable(parse_usdt_argument(text), text);
    };
    EXPECT_EQ(why("8f@%xmm0"), "\"8f@%xmm0\" is a floating-point number: it cannot be read");
    EXPECT_EQ(why("8@%fs:-8"), "\"8@%fs:-8\" is a thread-local variable: it cannot be read");
    EXPECT_EQ(why("4@16(%rip)"), "\"4@16(%rip)\" is a global variable: it cannot be read");
    EXPECT_EQ(why("16@%rax"), "\"16@%rax\" is not of 1, 2, 4 or 8 bytes: it cannot be read");
    EXPECT_EQ(why("8@rax\n"), "\"8@rax\\x0a\" is of an unknown form: it cannot be read");
}

TEST(UsdtArgument, ALongOneIsShownInPart) {
    const std::string text = "8@" + std::string(60'000, 'x');
    const std::string shown = why_unreadable(parse_usdt_argument(text), text);
    EXPECT_LT(shown.size(), 250U);
    EXPECT_THAT(shown, HasSubstr("..."));
}

TEST(UsdtArguments, AreSplitAtTheirSizes) {
    EXPECT_THAT(split_usdt_arguments("-4@%eax  8@-16(%rbp) "),
                ElementsAre("-4@%eax", "8@-16(%rbp)"));
    EXPECT_THAT(split_usdt_arguments("8@[x0, 16] 4@w1"), ElementsAre("8@[x0, 16]", "4@w1"));
    EXPECT_THAT(split_usdt_arguments("%rax %rbx"), ElementsAre("%rax", "%rbx"));
    EXPECT_TRUE(split_usdt_arguments("").empty());
    EXPECT_TRUE(split_usdt_arguments("   ").empty());
}

TEST(UsdtArguments, AreReadUpToALimit) {
    std::string many;
    for (int i = 0; i < 30; ++i) many += "8@$" + std::to_string(i) + " ";
    const auto parsed = parse_usdt_arguments(many);
    ASSERT_EQ(parsed.size(), max_usdt_arguments);
    EXPECT_EQ(parsed.back().number, 11);
}

TEST(UsdtArguments, OneThatIsNotReadHarmsNoOther) {
    const auto parsed = parse_usdt_arguments("8@%rdi 8f@%xmm0 -4@$-3");
    ASSERT_EQ(parsed.size(), 3U);
    EXPECT_EQ(parsed[0].place, UsdtPlace::Register);
    EXPECT_EQ(parsed[1].place, UsdtPlace::FloatingPoint);
    EXPECT_EQ(parsed[2].number, -3);
}

// Accepts from another process only what this process could have produced.
TEST(UsdtArguments, OutOfBoundsIsNotSound) {
    const UsdtArgument good = parse_usdt_argument("8@-8(%rax,%rbx,8)");
    ASSERT_TRUE(is_sound(good));
    const auto unsound = [&](auto change) {
        UsdtArgument changed = good;
        change(changed);
        EXPECT_FALSE(is_sound(changed));
    };
    unsound([](UsdtArgument& a) { a.place = static_cast<UsdtPlace>(200); });
    unsound([](UsdtArgument& a) { a.bytes = 16; });
    unsound([](UsdtArgument& a) { a.bytes = 0; });
    unsound([](UsdtArgument& a) { a.is_signed = 2; });
    unsound([](UsdtArgument& a) { a.first_bit = 64; });
    unsound([](UsdtArgument& a) { a.base = 16; });
    unsound([](UsdtArgument& a) { a.index = 100; });
    unsound([](UsdtArgument& a) { a.scale_shift = 4; });
    unsound([](UsdtArgument& a) {
        a.place = UsdtPlace::Register;
        a.base = no_register;
    });
}

}  // namespace
}  // namespace lagtrap::binaries::usdt_arguments_test
