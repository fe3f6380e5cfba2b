// The entry point of a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/unwind/unwind_table.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::unwind_entry_test {
namespace {

using ::testing::ElementsAre;

TEST(UnwindTable, TakesAFewBytesAtTheEntryForTheFirstFrame) {
    const auto at_entry = [](std::uint64_t entry, std::uint64_t gap_end) {
        Frames frames;
        const auto cie = frames.usual_cie();
        frames.function(cie, code_at, 16, "");
        frames.function(cie, gap_end, 16, "");
        TestFile file;
        file.sections.push_back({".eh_frame", frames.text(), frames_address, SHF_ALLOC});
        file.entry = entry;
        const auto table = table_of(file);
        EXPECT_TRUE(table) << table.error().message;
        std::vector<int> kinds;
        for (const std::uint64_t address : {code_at + 8, code_at + 16, entry, gap_end - 1, gap_end})
            kinds.push_back(table ? kind_of(find_unwind_rule(*table, address)) : -1);
        return kinds;
    };
    constexpr int gap = LAGTRAP_UNWIND_GAP, frame = LAGTRAP_UNWIND_REGISTER,
                  end = LAGTRAP_UNWIND_END;
    EXPECT_THAT(at_entry(code_at + 32, code_at + 96), ElementsAre(frame, gap, end, end, frame));
    EXPECT_THAT(at_entry(code_at + 31, code_at + 96), ElementsAre(frame, gap, gap, gap, frame))
        << "too long";
    EXPECT_THAT(at_entry(code_at + 16, code_at + 80), ElementsAre(frame, end, end, end, frame));
    EXPECT_THAT(at_entry(code_at + 15, code_at + 79), ElementsAre(frame, gap, frame, gap, frame))
        << "the last byte of a function";
    EXPECT_THAT(at_entry(code_at + 4, code_at + 96), ElementsAre(frame, gap, frame, gap, frame))
        << "in a function";
}

}  // namespace
}  // namespace lagtrap::binaries::test::unwind_entry_test
