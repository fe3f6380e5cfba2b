#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries::test::demangle_test {
namespace {

TEST(Demangle, SpellsCppNames) {
    EXPECT_EQ(demangle("_ZNK2ns5Store3getEi"), "ns::Store::get(int) const");
    EXPECT_EQ(demangle_without_parameters("_ZNK2ns5Store3getEi"), "ns::Store::get");
    EXPECT_EQ(demangle("_ZN2ns5twiceIiEET_S1_"), "int ns::twice<int>(int)");
    EXPECT_EQ(demangle_without_parameters("_ZN2ns5twiceIiEET_S1_"), "ns::twice<int>");
    EXPECT_EQ(demangle("_ZN3foo3barEv.cold"), "foo::bar() [clone .cold]");
}

TEST(Demangle, SpellsRustNamesWithoutTheHash) {
    EXPECT_EQ(demangle("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"),
              "core::ptr::drop_in_place");
    EXPECT_EQ(demangle("_ZN41_$LT$Test$u20$as$u20$core..fmt..Debug$GT$3fmt17h930b740aa94f1d3aE"),
              "<Test as core::fmt::Debug>::fmt");
    // The example of Rust's RFC 2603.
    EXPECT_EQ(demangle("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
}

TEST(Demangle, SpellsDNames) {
    EXPECT_EQ(demangle("_D3foo3barFiZv"), "foo.bar(int)");
    EXPECT_EQ(demangle("_Dmain"), "D main");
}

TEST(Demangle, LeavesOtherNamesAlone) {
    using namespace std::string_literals;
    for (const auto& name : {"main"s, "_init"s, ""s, "_Z"s, "_ZN"s, "_R"s, "_D"s,
                             "__libc_start_main"s, "_Z\0x"s, "_ZN3fo"s, "do_fsync"s, "_"s})
        EXPECT_EQ(demangle(name), name);
}

TEST(Demangle, GivesUpOnNamesThatGrowWithoutBound) {
    // Each level refers to the previous one twice, so forty levels would be terabytes.
    const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string hostile = "_Z1fI1AIiiE";
    for (std::size_t level = 1; level < 40; ++level) {
        // S_ is f; each level adds two: the template, and the template with its arguments.
        const std::size_t number = 2 * level - 1;
        const std::string high = number < 36 ? "" : digits.substr(number / 36, 1);
        const std::string before = "S" + high + digits[number % 36] + "_";
        hostile += "1AI" + before + before + "E";
        if (level == 3) {
            EXPECT_THAT(demangle(hostile + "Evv"),
                        ::testing::HasSubstr(
                            "A<A<A<A<int, int>, A<int, int> >, A<A<int, int>, A<int, int> > >"));
        }
    }
    hostile += "Evv";
    EXPECT_EQ(demangle(hostile), hostile);
    const std::string deep = "_Z1f" + std::string(4000, 'P') + "i";
    EXPECT_FALSE(demangle(deep).empty());
    const std::string long_name(100'000, 'P');
    EXPECT_EQ(demangle("_Z1f" + long_name + "i"), "_Z1f" + long_name + "i");
}

}  // namespace
}  // namespace lagtrap::binaries::test::demangle_test
