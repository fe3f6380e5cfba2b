#include "binaries/dwarf/dwarf_units.hpp"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::binaries::dwarf_units_test {
namespace {

template <typename Number>
std::string number(Number value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// A unit whose only entry has abbreviation `code`; `more` follows the header.
std::string unit(std::uint16_t version, std::uint32_t abbreviations = 0, char code = 1,
                 std::uint8_t address_bytes = 8, std::uint8_t type = 1,
                 const std::string& more = "") {
    std::string content = number(version);
    if (version == 5)
        content += number(type) + number(address_bytes) + number(abbreviations);
    else
        content += number(abbreviations) + number(address_bytes);
    content += more + code;
    return number(static_cast<std::uint32_t>(content.size())) + content;
}

// A compilation unit with one attribute (name, string).
const std::string abbreviation("\x01\x11\x00\x03\x08\x00\x00\x00", 8);

DwarfUnits read(const std::string& info, const std::string& abbreviations = abbreviation,
                std::size_t max_units = 10, std::uint64_t max_bytes = 1000) {
    return read_dwarf_units(info, abbreviations, max_units, max_bytes);
}

// The first entry of the only unit; 0 if there is none.
std::uint64_t first_entry(const std::string& info) {
    const DwarfUnits units = read(info);
    EXPECT_FALSE(units.beyond_limits);
    EXPECT_EQ(units.checked_bytes, units.units.empty() ? 0 : info.size());
    return units.units.size() == 1 ? units.units[0].first_entry : 0;
}

TEST(DwarfUnits, AreFoundOneAfterTheOther) {
    const std::string info = unit(4) + unit(5) + unit(2);
    const DwarfUnits found = read(info);
    ASSERT_EQ(found.units.size(), 3U);
    EXPECT_EQ(found.units[0].start, 0U);
    EXPECT_EQ(found.units[0].end, 12U);
    EXPECT_EQ(found.units[0].first_entry, 11U);
    EXPECT_EQ(found.units[0].abbreviations_bytes, abbreviation.size());
    EXPECT_EQ(found.units[1].start, 12U);
    EXPECT_EQ(found.units[1].end, 25U);
    EXPECT_EQ(found.units[1].first_entry, 24U);
    EXPECT_EQ(found.units[2].first_entry, 36U);
    EXPECT_EQ(found.checked_bytes, info.size());
    EXPECT_FALSE(found.beyond_limits);
}

TEST(DwarfUnits, HaveHeadersByVersionAndType) {
    EXPECT_EQ(first_entry(unit(2)), 11U);
    EXPECT_EQ(first_entry(unit(3)), 11U);
    EXPECT_EQ(first_entry(unit(5)), 12U);
    EXPECT_EQ(first_entry(unit(5, 0, 1, 8, 3)), 12U);  // partial
    const std::string id(8, '\x07'), offset(4, '\x07');
    EXPECT_EQ(first_entry(unit(5, 0, 1, 8, 4, id)), 20U);           // skeleton
    EXPECT_EQ(first_entry(unit(5, 0, 1, 8, 5, id)), 20U);           // split
    EXPECT_EQ(first_entry(unit(5, 0, 1, 8, 2, id + offset)), 24U);  // type
    EXPECT_EQ(first_entry(unit(5, 0, 1, 8, 6, id + offset)), 24U);  // split type
    EXPECT_EQ(first_entry(unit(1)), 0U);
    EXPECT_EQ(first_entry(unit(6)), 0U);
    EXPECT_EQ(first_entry(unit(4, 0, 1, 4)), 0U);
    EXPECT_EQ(first_entry(unit(5, 0, 1, 4)), 0U);
    // 64-bit DWARF.
    const std::string content = number(std::uint16_t{4}) + number(std::uint64_t{0}) + "\x08\x01";
    EXPECT_EQ(first_entry(number(0xffffffffU) + number(std::uint64_t{content.size()}) + content),
              23U);
}

TEST(DwarfUnits, EndBeforeTheFirstDamagedOne) {
    const std::string good = unit(4);
    for (const std::string& bad :
         {unit(4).substr(0, 11), unit(6), unit(4, 0, 2), unit(4, 9), unit(4, 8),
          number(7U) + number(std::uint16_t{4}) + number(0U) + "\x08\x01", std::string("abc")}) {
        const DwarfUnits found = read(good + bad);
        EXPECT_EQ(found.units.size(), 1U);
        EXPECT_EQ(found.checked_bytes, good.size());
        EXPECT_FALSE(found.beyond_limits);
    }
    // One without entries needs no abbreviation.
    EXPECT_EQ(read(good + unit(4, 8, 0)).units.size(), 2U);
}

TEST(DwarfUnits, NeedTheAbbreviationOfTheirFirstEntry) {
    std::string table("\x02\x11\x00\x03\x21\x05\x00\x00", 8);  // an implicit constant
    table += abbreviation;
    EXPECT_EQ(read(unit(4), table).units.size(), 1U);
    EXPECT_EQ(read(unit(4, 0, 2), table).units.size(), 1U);
    EXPECT_EQ(read(unit(4, 0, 3), table).units.size(), 0U);
    EXPECT_EQ(read(unit(4), abbreviation.substr(0, 6)).units.size(), 0U);
    EXPECT_EQ(read(unit(4), abbreviation.substr(0, 7)).units.size(), 1U);
}

TEST(DwarfUnits, AreAtMostAsManyAsAllowed) {
    const std::string info = unit(4) + unit(4);
    EXPECT_FALSE(read(info, abbreviation, 2).beyond_limits);
    const DwarfUnits found = read(info, abbreviation, 1);
    EXPECT_TRUE(found.beyond_limits);
    EXPECT_EQ(found.units.size(), 1U);
    EXPECT_EQ(found.checked_bytes, 12U);
}

TEST(DwarfUnits, EndBeforeATableOfAbbreviationsThatIsTooLarge) {
    const std::string table = abbreviation + abbreviation + std::string(10, '\0');
    const std::string info = unit(4, 8) + unit(4, 0) + unit(4, 8);
    const DwarfUnits all = read(info, table, 10, 18);
    ASSERT_EQ(all.units.size(), 3U);
    EXPECT_EQ(all.units[0].abbreviations_bytes, 18U);
    EXPECT_EQ(all.units[1].abbreviations_bytes, 8U);
    EXPECT_FALSE(all.beyond_limits);
    const DwarfUnits none = read(info, table, 10, 17);
    EXPECT_TRUE(none.beyond_limits);
    EXPECT_TRUE(none.units.empty());
    EXPECT_EQ(none.checked_bytes, 0U);
    const DwarfUnits one = read(unit(4, 0) + info, table, 10, 17);
    EXPECT_EQ(one.units.size(), 1U);
    EXPECT_EQ(one.checked_bytes, 12U);
}

}  // namespace
}  // namespace lagtrap::binaries::dwarf_units_test
