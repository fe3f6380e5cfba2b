// The number that says which lock, condition variable or semaphore a thread waits for.
#include <linux/futex.h>
#include <sys/syscall.h>

#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

constexpr std::uint64_t a_lock = 0x7f0012345678;

class WaitObject : public Listener {
  protected:
    // The object for which this thread waits in futex(address, operation).
    std::uint64_t object_of(std::uint32_t tid, std::uint64_t address, std::uint32_t operation = FUTEX_WAIT_PRIVATE) {
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

}  // namespace lagtrap::native
