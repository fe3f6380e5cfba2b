#include "daemon/unwinding/follow_events.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::follow_events_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

lagtrap_record record(std::uint64_t at_ns, std::uint16_t cpu = 0) {
    lagtrap_record made{};
    made.size_bytes = sizeof(made);
    made.at_ns = at_ns;
    made.cpu = cpu;
    return made;
}

// Time and CPU of each.
std::vector<std::pair<std::uint64_t, std::uint16_t>> listed(const RecordBuffer& records) {
    std::vector<std::pair<std::uint64_t, std::uint16_t>> all;
    records.for_each([&](const lagtrap_record* one) { all.emplace_back(one->at_ns, one->cpu); });
    return all;
}

TEST(EventOrder, OrdersWhatIsComplete) {
    EventOrder order;
    for (const lagtrap_record& one :
         {record(30, 0), record(50, 0), record(10, 1), record(30, 1), record(49, 1)})
        order.add(&one);
    EXPECT_THAT(listed(order.take_before(50)),
                ElementsAre(Pair(10, 1), Pair(30, 0), Pair(30, 1), Pair(49, 1)));
    EXPECT_THAT(listed(order.take_before(50)), IsEmpty());
    EXPECT_THAT(listed(order.take_before(51)), ElementsAre(Pair(50, 0)));
    EXPECT_THAT(listed(order.take_before(60)), IsEmpty());
}

TEST(CaptureEvents, KeepsThemUntilTheyAreTaken) {
    CaptureEvents events;
    const lagtrap_record first = record(1), second = record(2);
    events.add(&first);
    RecordBuffer more;
    more.append(&second, sizeof(second), {});
    events.add(more);
    EXPECT_THAT(listed(events.take()), ElementsAre(Pair(1, 0), Pair(2, 0)));
    EXPECT_TRUE(events.take().empty());
    EXPECT_EQ(events.not_kept(), 0U);
}

TEST(CaptureEvents, CountsThoseWithoutRoom) {
    CaptureEvents events;
    lagtrap_record one = record(1);
    std::vector<char> large(1 << 20);
    one.size_bytes = static_cast<std::uint32_t>(large.size());
    std::memcpy(large.data(), &one, sizeof(one));
    const auto* const added = reinterpret_cast<const lagtrap_record*>(large.data());
    const std::size_t fit = CaptureEvents::limit_bytes / large.size();
    EXPECT_EQ(fit, 64U);
    for (std::size_t i = 0; i < fit; ++i) events.add(added);
    EXPECT_EQ(events.not_kept(), 0U);
    events.add(added);
    events.add(added);
    EXPECT_EQ(events.not_kept(), 2U);
    EXPECT_EQ(listed(events.take()).size(), fit);
    events.add(added);
    EXPECT_EQ(events.not_kept(), 2U) << "there is room again";
}

TEST(FollowPauses, ACaptureComesBeforeTablesAndFiles) {
    const FollowPauses pauses;
    EXPECT_EQ(pauses.next(true, true, true), 1ms);
    EXPECT_EQ(pauses.next(false, true, true), 50ms);
    EXPECT_EQ(pauses.next(false, false, true), 20ms);
    EXPECT_EQ(pauses.next(false, false, false), 1s);
}

TEST(FollowPauses, GrowWhileNothingHappens) {
    FollowPauses pauses;
    const auto after = [&](bool has_events) {
        pauses.note(has_events);
        return std::pair(pauses.next(true, false, true), pauses.next(false, false, true));
    };
    EXPECT_EQ(after(false), std::pair(2ms, 40ms));
    EXPECT_EQ(after(false), std::pair(4ms, 80ms));
    EXPECT_EQ(after(false), std::pair(4ms, 160ms));
    EXPECT_EQ(after(false), std::pair(4ms, 320ms));
    EXPECT_EQ(after(false), std::pair(4ms, 400ms));
    EXPECT_EQ(after(true), std::pair(1ms, 20ms));
}

TEST(TablePriority, OnlyTablesThatNobodyWaitsForAreMadeAtTheLowest) {
    EXPECT_TRUE(TablePriority::is_patient(199ms, false, false, false));
    EXPECT_FALSE(TablePriority::is_patient(200ms, false, false, false));
    EXPECT_FALSE(TablePriority::is_patient(0ms, true, false, false));
    EXPECT_FALSE(TablePriority::is_patient(0ms, false, true, false));
    EXPECT_TRUE(TablePriority::is_patient(1s, true, true, true)) << "the user had much";
}

TEST(TablePriority, LateTablesAreRaisedUnlessTheyAreSlow) {
    EXPECT_FALSE(TablePriority::is_late(199ms));
    EXPECT_TRUE(TablePriority::is_late(200ms));
    EXPECT_EQ(TablePriority::of_late(false, 999ms), 0);
    EXPECT_EQ(TablePriority::of_late(false, 1s), 10);
    EXPECT_EQ(TablePriority::of_late(true, 0ms), 10);
    EXPECT_EQ(TablePriority::lowest, 19);
    EXPECT_EQ(TablePriority::normal, 0);
}

}  // namespace
}  // namespace lagtrap::daemon::follow_events_test
