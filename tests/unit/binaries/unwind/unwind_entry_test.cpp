// Where a file begins to run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/unwind/unwind_table.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test {
namespace {

using ::testing::ElementsAre;

TEST(UnwindTable, TakesAFewBytesAtTheEntryForTheFirstFrame) {
    const auto at_entry = [](std::uint64_t entry, std::uint64_t gap_end) {
        Frames frames;
        const auto cie = frames.usual_cie();
        frames.function(cie, kCode, 16, "");
        frames.function(cie, gap_end, 16, "");
        TestFile file;
        file.sections.push_back({".eh_frame", frames.text(), kFrames, SHF_ALLOC});
        file.entry = entry;
        const auto table = table_of(file);
        EXPECT_TRUE(table) << table.error().message;
        std::vector<int> kinds;
        for (const std::uint64_t address : {kCode + 8, kCode + 16, entry, gap_end - 1, gap_end})
            kinds.push_back(table ? kind_of(find_unwind_rule(*table, address)) : -1);
        return kinds;
    };
    constexpr int kGap = LAGTRAP_UNWIND_GAP, kFrame = LAGTRAP_UNWIND_REGISTER, kEnd = LAGTRAP_UNWIND_END;
    EXPECT_THAT(at_entry(kCode + 32, kCode + 96), ElementsAre(kFrame, kGap, kEnd, kEnd, kFrame));
    EXPECT_THAT(at_entry(kCode + 31, kCode + 96), ElementsAre(kFrame, kGap, kGap, kGap, kFrame)) << "too long";
    EXPECT_THAT(at_entry(kCode + 4, kCode + 96), ElementsAre(kFrame, kGap, kFrame, kGap, kFrame)) << "in a function";
}

}  // namespace
}  // namespace lagtrap::binaries::test
