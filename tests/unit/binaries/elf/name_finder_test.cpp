#include "binaries/elf/name_finder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::binaries::test::name_finder_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

// The wanted names that match the symbol.
Names matches(const std::string& symbol, const Names& wanted) {
    Names found;
    for (const std::size_t number : NameFinder(wanted).names_of(symbol))
        found.push_back(wanted.at(number));
    return found;
}

TEST(NameFinderTest, ASymbolIsItsOwnName) {
    EXPECT_THAT(matches("main", {"other", "main", "mai", "mainly"}), ElementsAre("main"));
    EXPECT_THAT(matches("memcpy@@GLIBC_2.14", {"memcpy", "memcpy@@GLIBC_2.14", "memcpy@"}),
                ElementsAre("memcpy", "memcpy@@GLIBC_2.14"));
    EXPECT_THAT(matches("_ZN3foo3barEv", {"_ZN3foo3barEv"}), ElementsAre("_ZN3foo3barEv"));
    EXPECT_THAT(matches("main", {"main", "main"}), ElementsAre("main", "main"));
}

TEST(NameFinderTest, ACppNameMatchesWithOrWithoutParameters) {
    EXPECT_THAT(matches("_ZNK2ns5Store3getEi",
                        {"ns::Store::get", "ns::Store::get(int) const", "get", "Store::get",
                         "ns::Store::get(long) const", "ns::Store::put"}),
                ElementsAre("ns::Store::get", "ns::Store::get(int) const"));
    EXPECT_THAT(matches("_ZN2ns5twiceIiEET_S1_",
                        {"ns::twice<int>", "int ns::twice<int>(int)", "ns::twice"}),
                ElementsAre("ns::twice<int>", "int ns::twice<int>(int)"));
}

TEST(NameFinderTest, RustAndDNamesMatch) {
    EXPECT_THAT(matches("_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
                        {"core::ptr::drop_in_place", "drop_in_place"}),
                ElementsAre("core::ptr::drop_in_place"));
    EXPECT_THAT(matches("_RNvNtCs1234_7mycrate3foo3bar", {"mycrate::foo::bar"}),
                ElementsAre("mycrate::foo::bar"));
    EXPECT_THAT(matches("_D3foo3barFiZv", {"foo.bar(int)", "foo.bar"}),
                ElementsAre("foo.bar(int)"));
}

// Their identifiers are not in the symbol as they are written.
TEST(NameFinderTest, NamesThatAreAbbreviatedMatchToo) {
    EXPECT_THAT(matches("_ZN2nsplERKNS_1AES2_",
                        {"ns::operator+", "ns::operator+(ns::A const&, ns::A const&)"}),
                ElementsAre("ns::operator+", "ns::operator+(ns::A const&, ns::A const&)"));
    EXPECT_THAT(matches("_ZNSaIcEC1Ev", {"std::allocator<char>::allocator"}),
                ElementsAre("std::allocator<char>::allocator"));
    EXPECT_THAT(matches("_ZN2ns5StoreD1Ev", {"ns::Store::~Store"}),
                ElementsAre("ns::Store::~Store"));
    EXPECT_THAT(matches("_ZN2ns5Store6stringEv", {"ns::Store::string"}),
                ElementsAre("ns::Store::string"));
}

TEST(NameFinderTest, IdentifiersMayBeginWithADigitOfTheirLength) {
    EXPECT_THAT(matches("_ZN1a11abcdefghijkEv", {"a::abcdefghijk"}), ElementsAre("a::abcdefghijk"));
    EXPECT_THAT(matches("_ZN1a1bEv", {"a::b", "a::bE"}), ElementsAre("a::b"));
    // An underscore precedes identifiers that begin with one.
    EXPECT_THAT(matches("_RNvCs1234_7mycrate4__ab", {"mycrate::_ab"}), IsEmpty());
    EXPECT_THAT(matches("_RNvCs1234_7mycrate3__ab", {"mycrate::_ab"}), ElementsAre("mycrate::_ab"));
}

TEST(NameFinderTest, APartOfAFunctionHasOnlyItsSymbol) {
    EXPECT_THAT(matches("_ZN3foo3barEv.cold", {"foo::bar", "foo::bar()", "_ZN3foo3barEv.cold"}),
                ElementsAre("_ZN3foo3barEv.cold"));
    EXPECT_THAT(matches("_ZN3foo3barEv.isra.0", {"foo::bar"}), ElementsAre("foo::bar"));
}

TEST(NameFinderTest, NothingMatchesNothing) {
    EXPECT_THAT(matches("_ZN3foo3barEv", {}), IsEmpty());
    EXPECT_THAT(matches("", {"main"}), IsEmpty());
    EXPECT_THAT(matches("_ZN3foo", {"foo", "foo::bar"}), IsEmpty());
}

TEST(AllNames, AreThoseThatMatch) {
    EXPECT_THAT(all_names_of("main"), ElementsAre("main"));
    EXPECT_THAT(all_names_of("memcpy@@GLIBC_2.14"), ElementsAre("memcpy", "memcpy@@GLIBC_2.14"));
    EXPECT_THAT(all_names_of("_ZN3foo3barEi"),
                ElementsAre("_ZN3foo3barEi", "foo::bar", "foo::bar(int)"));
    EXPECT_THAT(all_names_of("_ZN3foo3barEi.cold"), ElementsAre("_ZN3foo3barEi.cold"));
}

}  // namespace
}  // namespace lagtrap::binaries::test::name_finder_test
