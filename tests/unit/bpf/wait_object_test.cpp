// The number that says which lock, condition variable or semaphore a thread waits for.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <array>

#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

constexpr std::uint64_t a_lock = 0x7f0012345678;

class WaitObject : public EventMonitor {
  protected:
    // The object for which this thread waits in futex(address, operation).
    std::uint64_t object_of(std::uint32_t tid, std::uint64_t address,
                            std::uint32_t operation = FUTEX_WAIT_PRIVATE) {
        native_thread& waiting = thread(tid);
        waiting.call = SYS_futex;
        waiting.call_arguments[0] = address;
        waiting.call_arguments[1] = operation;
        return native_wait_object(&waiting);
    }
};

TEST_F(WaitObject, is_the_same_for_all_threads_of_a_process) {
    const std::uint64_t object = object_of(101, a_lock);
    EXPECT_NE(object, 0);
    EXPECT_EQ(object_of(102, a_lock), object);
    EXPECT_EQ(object_of(102, a_lock, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME), object);
    EXPECT_NE(object_of(102, a_lock + 8), object);
}

TEST_F(WaitObject, of_two_processes_differ_though_their_addresses_are_equal) {
    EXPECT_NE(object_of(101, a_lock), object_of(201, a_lock));
}

TEST_F(WaitObject, that_processes_share_is_one_for_all_of_them) {
    const std::uint64_t object = object_of(101, a_lock, FUTEX_WAIT);
    EXPECT_EQ(object_of(201, a_lock, FUTEX_WAIT), object);
    EXPECT_NE(object_of(101, a_lock), object);
}

TEST_F(WaitObject, has_two_words_for_two_groups_of_waiters) {
    EXPECT_EQ(object_of(101, a_lock + 4), object_of(102, a_lock));
}

TEST_F(WaitObject, is_none_outside_of_waits_for_a_futex) {
    EXPECT_EQ(object_of(101, a_lock, FUTEX_WAKE_PRIVATE), 0);
    native_thread& reading = thread(102);
    reading.call = SYS_read;
    reading.call_arguments[0] = 3;
    EXPECT_EQ(native_wait_object(&reading), 0);
}

// The five words at the futex's address, rounded down to eight bytes.
using LockWords = std::array<std::uint32_t, 5>;

std::uint32_t owner_in(const LockWords& words, std::uint32_t operation,
                       std::uint64_t address = a_lock) {
    return native_owner_in(words.data(), address, operation);
}

TEST(LockOwner, is_noted_in_a_mutex_with_waiters) {
    EXPECT_EQ(owner_in({2, 0, 101, 1, 0}, FUTEX_WAIT_PRIVATE), 101);
    EXPECT_EQ(owner_in({1, 0, 101, 1, 0}, FUTEX_WAIT_PRIVATE), 0);
    EXPECT_EQ(owner_in({0, 2, 101, 1, 0}, FUTEX_WAIT_PRIVATE, a_lock + 4), 0);
}

TEST(LockOwner, is_the_value_of_a_mutex_that_hands_on_its_priority_or_survives_its_owner) {
    EXPECT_EQ(owner_in({101, 0, 7, 0, 0}, FUTEX_LOCK_PI_PRIVATE), 101);
    EXPECT_EQ(owner_in({FUTEX_WAITERS | 101, 0, 7, 0, 0}, FUTEX_WAIT_PRIVATE), 101);
}

TEST(LockOwner, is_the_writer_of_a_lock_for_readers_and_writers) {
    EXPECT_EQ(owner_in({3, 0, 0, 0, 101}, FUTEX_WAIT_PRIVATE), 101);
    EXPECT_EQ(owner_in({1, 3, 0, 0, 101}, FUTEX_WAIT_PRIVATE, a_lock + 4), 101);
    EXPECT_EQ(owner_in({2, 0, 0, 0, 0}, FUTEX_WAIT_PRIVATE), 0);
}

TEST(LockOwner, is_a_thread_whose_end_is_awaited) {
    EXPECT_EQ(owner_in({101, 0, 0, 0, 0}, FUTEX_WAIT), 101);
    EXPECT_EQ(owner_in({101, 0, 0, 0, 0}, FUTEX_WAIT_PRIVATE), 0);
    EXPECT_EQ(owner_in({1, 0, 0, 0, 0}, FUTEX_WAIT), 0);
}

}  // namespace lagtrap::native
