#include "server/reports/wait_notes.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::reports::wait_notes_test {
namespace {

using analysis::WaitKind;

TEST(WaitNotes, name_the_kind_with_the_most_time) {
    WaitNotes notes;
    EXPECT_EQ(notes.kind_of(1), WaitKind::Other);
    notes.add(1, WaitKind::Signal, "a", 10);
    notes.add(1, WaitKind::Lock, "a", 25);
    notes.add(2, WaitKind::Disk, "", 5);
    EXPECT_EQ(notes.kind_of(1), WaitKind::Lock);
    EXPECT_EQ(notes.kind_of(2), WaitKind::Disk);
    EXPECT_EQ(notes.awaited_thread(2), "");
}

TEST(WaitNotes, name_a_thread_only_if_most_of_the_time_is_its_own) {
    WaitNotes notes;
    notes.add(1, WaitKind::Lock, "price-refresher", 60);
    notes.add(1, WaitKind::Lock, "report", 40);
    EXPECT_EQ(notes.awaited_thread(1), "price-refresher");
    notes.add(1, WaitKind::Lock, "", 10);
    EXPECT_EQ(notes.awaited_thread(1), "");
}

TEST(WaitNotes, threads_that_differ_in_their_number_are_one) {
    WaitNotes notes;
    for (int i = 0; i < 10; ++i) notes.add(1, WaitKind::Lock, "worker-" + std::to_string(i), 10);
    EXPECT_EQ(notes.awaited_thread(1), "worker-*");
    // A name of digits only has nothing in common with others.
    for (int i = 0; i < 40; ++i) notes.add(2, WaitKind::Lock, std::to_string(i), 10);
    EXPECT_EQ(notes.awaited_thread(2), "");
}

TEST(WaitNotes, of_a_place_have_64_threads) {
    const auto named_after = [](std::size_t others) {
        WaitNotes notes;
        notes.add(1, WaitKind::Lock, "first", 1);
        for (std::size_t i = 1; i < others; ++i)
            notes.add(1, WaitKind::Lock, std::string(i, 'x'), 1);
        notes.add(1, WaitKind::Lock, "late", 1000);
        notes.add(1, WaitKind::Lock, "first", 1);
        return notes.awaited_thread(1);
    };
    EXPECT_EQ(named_after(63), "late");
    EXPECT_EQ(named_after(64), "");
    WaitNotes notes;
    for (std::size_t i = 1; i <= 64; ++i) notes.add(1, WaitKind::Lock, std::string(i, 'x'), 1);
    notes.add(1, WaitKind::Lock, "x", 1000);
    EXPECT_EQ(notes.awaited_thread(1), "x") << "it is known";
}

TEST(WaitNotes, any_number_of_thread_names_takes_little_memory) {
    WaitNotes notes;
    for (int i = 0; i < 100000; ++i)
        notes.add(1, WaitKind::Lock, "thread of a hostile program " + std::to_string(i), 1);
    EXPECT_EQ(notes.awaited_thread(1), "");
}

}  // namespace
}  // namespace lagtrap::server::reports::wait_notes_test
