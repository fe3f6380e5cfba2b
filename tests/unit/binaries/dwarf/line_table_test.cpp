#include "binaries/dwarf/line_table.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace lagtrap::binaries::line_table_test {
namespace {

template <typename Number>
std::string bytes_of(Number number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

// Operations of a line program (DWARF 3, 6.2.5): one row, and the end `size` bytes after it.
std::string sequence(std::uint64_t begin, std::uint8_t size, std::uint8_t line) {
    const std::string set_address = std::string("\0\x09\x02", 3) + bytes_of(begin);
    const std::string one_row{'\3', static_cast<char>(line - 1), '\1'};
    const std::string advance{'\2', static_cast<char>(size)};
    return set_address + one_row + advance + std::string("\0\1\1", 3);
}

// A table of version 3, with one file.
std::string table_of(const std::string& program) {
    const std::string operands("\0\1\1\1\1\0\0\0\1\0\0\1", 12);
    const std::string header =
        std::string("\1\1\xfb\x0e\x0d", 5) + operands + std::string("\0a.c\0\0\0\0\0", 9);
    const std::string content = bytes_of(std::uint16_t{3}) +
                                bytes_of(static_cast<std::uint32_t>(header.size())) + header +
                                program;
    return bytes_of(static_cast<std::uint32_t>(content.size())) + content;
}

std::uint32_t line_at(const LineTable& table, std::uint64_t address) {
    const auto place = table.find(address);
    return place ? place->line : 0;
}

TEST(LineTable, AnOuterSequenceGoesOnAfterAnInnerOne) {
    const std::string bytes = table_of(sequence(0x1000, 100, 10) + sequence(0x1010, 5, 20));
    LineTableSource source;
    source.debug_line = bytes;
    source.highest_address = ~std::uint64_t{0};
    const auto table = LineTable::read(source, 1 << 20);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(line_at(*table, 0x1000), 10U);
    EXPECT_EQ(line_at(*table, 0x1012), 20U);
    EXPECT_EQ(line_at(*table, 0x1020), 10U);
    EXPECT_EQ(line_at(*table, 0x1000 + 100), 0U);
    EXPECT_EQ(line_at(*table, 0xfff), 0U);
}

LineTableSource source_of(const std::string& bytes) {
    LineTableSource source;
    source.debug_line = bytes;
    source.highest_address = ~std::uint64_t{0};
    return source;
}

TEST(LineTable, FilesAreInTheFolderOfTheirCompilation) {
    const std::string bytes = table_of(sequence(0x1000, 100, 10));
    LineTableSource source = source_of(bytes);
    for (const auto& [directory, path] :
         {std::pair("", "a.c"), std::pair("/src", "/src/a.c"), std::pair("/src/", "/src/a.c")}) {
        source.directory = directory;
        const auto table = LineTable::read(source, 1 << 20);
        ASSERT_TRUE(table);
        EXPECT_EQ(table->file_name(table->find(0x1000)->file), path);
        EXPECT_EQ(table->file_name(99), "");
    }
}

TEST(LineTable, CodeThatTheLinkerDroppedHasNoLines) {
    const std::string bytes = table_of(sequence(0x1000, 100, 10) + sequence(0x3000, 100, 20));
    LineTableSource source = source_of(bytes);
    source.lowest_address = 0x2000;
    const auto later = LineTable::read(source, 1 << 20);
    ASSERT_TRUE(later);
    EXPECT_EQ(line_at(*later, 0x1000), 0U);
    EXPECT_EQ(line_at(*later, 0x3000), 20U);
    source.lowest_address = 0;
    source.highest_address = 0x2000;
    const auto earlier = LineTable::read(source, 1 << 20);
    ASSERT_TRUE(earlier);
    EXPECT_EQ(line_at(*earlier, 0x1000), 10U);
    EXPECT_EQ(line_at(*earlier, 0x3000), 0U);
}

TEST(LineTable, MemoryAndDamageHaveErrors) {
    std::string many;
    for (std::uint64_t i = 0; i < 1000; ++i) many += sequence(0x1000 + 100 * i, 50, 10);
    const std::string bytes = table_of(many);
    const auto table = LineTable::read(source_of(bytes), 1 << 20);
    ASSERT_TRUE(table);
    EXPECT_LE(table->memory_bytes(), 1U << 20);
    EXPECT_EQ(line_at(*table, 0x1000 + 100 * 999), 10U);
    const auto large = LineTable::read(source_of(bytes), 10'000);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().kind, ErrorKind::TooLarge);
    const std::string cut = bytes.substr(0, bytes.size() - 1);
    const auto damaged = LineTable::read(source_of(cut), 1 << 20);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().kind, ErrorKind::Invalid);
    LineTableSource beyond = source_of(bytes);
    beyond.offset = bytes.size();
    EXPECT_FALSE(LineTable::read(beyond, 1 << 20));
}

}  // namespace
}  // namespace lagtrap::binaries::line_table_test
