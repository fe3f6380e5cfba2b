#include "analysis/call_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::call_words_test {
namespace {

TEST(CallWords, TheMemoryAllocatorHasLocks) {
    for (const char* const called :
         {"malloc", "calloc", "realloc", "reallocarray", "free", "memalign", "posix_memalign",
          "aligned_alloc", "malloc_trim", "malloc_info", "mallinfo", "mallinfo2",
          "operator new(unsigned long)", "operator new[](unsigned long)", "operator delete(void*)",
          "operator delete[](void*)"})
        EXPECT_EQ(words_of_call(WaitKind::Lock, called),
                  "for a lock of the memory allocator (malloc)")
            << called;
    for (const char* const called : {"", "mall", "malloc_stats_of_app", "pthread_mutex_lock"})
        EXPECT_EQ(words_of_call(WaitKind::Lock, called), "") << called;
    EXPECT_EQ(words_of_call(WaitKind::Futex, "malloc"), "");
    EXPECT_EQ(words_of_call(WaitKind::KernelLock, "malloc"), "");
}

TEST(CallWords, IdsAreChangedByAllThreads) {
    for (const char* const called :
         {"setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid", "setresuid",
          "setresgid", "setgroups", "initgroups"})
        EXPECT_EQ(words_of_call(WaitKind::Futex, called),
                  "for the other threads of its process to change their user or group")
            << called;
    EXPECT_EQ(words_of_call(WaitKind::Lock, "setuid"), "");
}

TEST(CallWords, AsynchronousRequestsAreAwaited) {
    for (const char* const called : {"aio_suspend", "aio_suspend64", "lio_listio", "lio_listio64"})
        EXPECT_EQ(words_of_call(WaitKind::Futex, called), "for asynchronous I/O (AIO)") << called;
    EXPECT_EQ(words_of_call(WaitKind::Signal, "aio_suspend"), "");
    EXPECT_EQ(words_of_call(WaitKind::Futex, "take"), "");
}

}  // namespace
}  // namespace lagtrap::analysis::call_words_test
