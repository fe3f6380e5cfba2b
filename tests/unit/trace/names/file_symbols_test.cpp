#include "trace/names/file_symbols.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::trace::file_symbols_test {
namespace {

using testing::EndsWith;

const std::string& program() {
    static const std::string path = build_folder() + "/trace/trace_planted_program";
    return path;
}

NamingLimits reading(std::uint64_t bytes) {
    NamingLimits limits;
    limits.read_bytes = bytes;
    return limits;
}

TEST(LoadSymbols, CountsWhatItReads) {
    NamingBudget budget(reading(1));
    const auto table = load_symbols(program(), {}, budget);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_GT(table->memory_bytes(), 1U);
    const auto refused = load_symbols(program(), {}, budget);
    ASSERT_FALSE(refused) << "the first was the last";
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(refused.error().message, program() + ": is beyond what may be read for names");
    NamingBudget more(reading(1 << 20));
    EXPECT_FALSE(load_symbols("/nonexistent", {}, more));
}

TEST(LoadSymbols, KeepsATableWithinItsLimit) {
    NamingLimits limits;
    limits.symbol_table_bytes = 1;
    NamingBudget budget(limits);
    const auto table = load_symbols(program(), {}, budget);
    EXPECT_TRUE(!table || table->memory_bytes() < 4096) << "far less than all of it";
}

TEST(LoadLines, CountsTheWholeDebugFile) {
    const std::uint64_t size = std::filesystem::file_size(program());
    NamingBudget enough(reading(size));
    EXPECT_TRUE(load_lines(program(), program(), {}, enough));
    EXPECT_FALSE(load_lines(program(), program(), {}, enough)) << "all is read";
    NamingBudget little(reading(size - 1));
    const auto refused = load_lines(program(), program(), {}, little);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(refused.error().message, EndsWith(": is beyond what may be read for names"));
    NamingBudget none(reading(size));
    EXPECT_EQ(load_lines(program(), "/nonexistent", {}, none).error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace lagtrap::trace::file_symbols_test
