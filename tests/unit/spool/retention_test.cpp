#include "spool/retention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::spool::retention_test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Retention, KeepsWhatIsWithinBothLimits) {
    EXPECT_THAT(
        choose_removals({{EntryState::Ready, 60, hours(1)}, {EntryState::Sent, 40, hours(24)}},
                        {.size_bytes = 100, .age = hours(24)}),
        IsEmpty());
}

TEST(Retention, RemovesWhatIsTooOldInEveryStateButSending) {
    const std::vector<RetentionEntry> entries{{EntryState::Ready, 1, hours(24) + seconds(1)},
                                              {EntryState::Sent, 1, hours(25)},
                                              {EntryState::Rejected, 1, hours(25)},
                                              {EntryState::Sending, 1, hours(25)},
                                              {EntryState::Ready, 1, hours(24)}};
    EXPECT_THAT(choose_removals(entries, {.size_bytes = 1000, .age = hours(24)}),
                UnorderedElementsAre(0, 1, 2));
}

TEST(Retention, TakesSentThenRejectedThenReadyOldestFirst) {
    const std::vector<RetentionEntry> entries{
        {EntryState::Ready, 10, hours(9)},    {EntryState::Ready, 10, hours(8)},
        {EntryState::Rejected, 10, hours(1)}, {EntryState::Rejected, 10, hours(2)},
        {EntryState::Sent, 10, hours(1)},     {EntryState::Sent, 10, hours(3)}};
    EXPECT_THAT(choose_removals(entries, {.size_bytes = 10, .age = hours(99)}),
                ElementsAre(5, 4, 3, 2, 0));
    EXPECT_THAT(choose_removals(entries, {.size_bytes = 59, .age = hours(99)}), ElementsAre(5));
}

TEST(Retention, BatchesOfRunsGoBeforeBundles) {
    const std::vector<RetentionEntry> entries{{EntryState::Ready, 10, hours(9), EntryKind::Bundle},
                                              {EntryState::Ready, 10, hours(1), EntryKind::Batch},
                                              {EntryState::Ready, 10, hours(2), EntryKind::Batch},
                                              {EntryState::Sent, 10, hours(1), EntryKind::Bundle}};
    EXPECT_THAT(choose_removals(entries, {.size_bytes = 0, .age = hours(99)}),
                ElementsAre(3, 2, 1, 0));
}

TEST(Retention, SentBatchesAreOldSoonerAndGoFirst) {
    const std::vector<RetentionEntry> entries{{EntryState::Sent, 10, hours(3), EntryKind::Bundle},
                                              {EntryState::Sent, 10, hours(1), EntryKind::Batch},
                                              {EntryState::Sent, 10, hours(2), EntryKind::Batch},
                                              {EntryState::Sent, 10, hours(7), EntryKind::Batch},
                                              {EntryState::Ready, 10, hours(7), EntryKind::Batch}};
    RetentionLimits limits{1000, hours(99), 0, hours(6)};
    EXPECT_THAT(choose_removals(entries, limits), ElementsAre(3));
    limits.sent_batch_age = {};
    EXPECT_THAT(choose_removals(entries, limits), ElementsAre(1, 2, 3));
    limits.sent_batch_age = hours(6);
    limits.size_bytes = 120;  // sent batches may have 15 bytes
    EXPECT_THAT(choose_removals(entries, limits), ElementsAre(3, 2));
    limits = {
        .size_bytes = 1000, .age = hours(99), .shortage_bytes = 25, .sent_batch_age = hours(6)};
    EXPECT_THAT(choose_removals(entries, limits), ElementsAre(3, 2, 1));
}

TEST(Retention, OnlySentBatchesCountAsSuch) {
    // Sent batches may have 15 bytes.
    const std::vector<RetentionEntry> entries{{EntryState::Sent, 40, hours(3), EntryKind::Bundle},
                                              {EntryState::Ready, 40, hours(2), EntryKind::Batch},
                                              {EntryState::Sent, 15, hours(1), EntryKind::Batch}};
    const RetentionLimits limits{120, hours(99), 0, hours(6)};
    EXPECT_THAT(choose_removals(entries, limits), IsEmpty());
}

TEST(Retention, AFullDiskTakesOnlyWhatTheServerHasOrNeverTakes) {
    const std::vector<RetentionEntry> entries{{EntryState::Ready, 10, hours(9)},
                                              {EntryState::Sent, 10, hours(1)},
                                              {EntryState::Sent, 10, hours(2)},
                                              {EntryState::Rejected, 10, hours(1)}};
    const auto short_of = [](std::uint64_t bytes) {
        return RetentionLimits{.size_bytes = 1000, .age = hours(99), .shortage_bytes = bytes};
    };
    EXPECT_THAT(choose_removals(entries, short_of(0)), IsEmpty());
    EXPECT_THAT(choose_removals(entries, short_of(11)), ElementsAre(2, 1));
    EXPECT_THAT(choose_removals(entries, short_of(1'000'000)), ElementsAre(2, 1, 3));
}

TEST(Retention, CountsWhatIsBeingSentButKeepsIt) {
    const std::vector<RetentionEntry> entries{{EntryState::Sending, 500, hours(1)},
                                              {EntryState::Ready, 10, hours(1)}};
    EXPECT_THAT(choose_removals(entries, {.size_bytes = 100, .age = hours(99)}), ElementsAre(1));
}

TEST(Retention, SpansGoBeforeTheirBundles) {
    const std::vector<RetentionEntry> entries{{EntryState::Ready, 60, hours(9), EntryKind::Bundle},
                                              {EntryState::Ready, 60, hours(1), EntryKind::Spans}};
    EXPECT_THAT(choose_removals(entries, {.size_bytes = 100, .age = hours(99)}), ElementsAre(1));
}

TEST(Retention, AClockThatJumpedBackMakesNothingOld) {
    EXPECT_THAT(choose_removals({{EntryState::Ready, 10, -hours(1000)}},
                                {.size_bytes = 100, .age = hours(1)}),
                IsEmpty());
}

TEST(Retention, OfEqualEntriesTheFirstGoes) {
    const std::vector<RetentionEntry> entries{{EntryState::Ready, 10, hours(1)},
                                              {EntryState::Ready, 10, hours(1)},
                                              {EntryState::Ready, 10, hours(1)}};
    EXPECT_THAT(choose_removals(entries, {.size_bytes = 10, .age = hours(9)}), ElementsAre(0, 1));
}

TEST(Retention, ADiskLacksAtMostSixtyFourMebibytesOrATwentieth) {
    constexpr std::uint64_t mebibyte = 1 << 20;
    struct Disk {
        std::uint64_t whole_bytes, free_bytes, shortage_bytes;
    };
    for (const Disk& disk :
         {Disk{10'000 * mebibyte, 64 * mebibyte, 0}, Disk{10'000 * mebibyte, 64 * mebibyte - 1, 1},
          Disk{10'000 * mebibyte, 0, 64 * mebibyte}, Disk{1280 * mebibyte, 0, 64 * mebibyte},
          Disk{200 * mebibyte, 0, 10 * mebibyte}, Disk{200 * mebibyte, 10 * mebibyte, 0},
          Disk{200 * mebibyte, 9 * mebibyte, mebibyte}, Disk{0, 0, 0}})
        EXPECT_EQ(shortage_of_disk(disk.whole_bytes, disk.free_bytes), disk.shortage_bytes)
            << disk.whole_bytes << " " << disk.free_bytes;
}

}  // namespace
}  // namespace lagtrap::spool::retention_test
