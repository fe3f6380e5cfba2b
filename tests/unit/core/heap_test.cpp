#include "core/heap.hpp"

#include <malloc.h>

#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/sanitized.hpp"

namespace lagtrap::heap_test {
namespace {

TEST(Heap, FreePagesAreReturnedAtAnyTime) {
    const auto used = std::make_unique<std::string>(100'000, 'x');
    return_free_memory();
    EXPECT_EQ(*used, std::string(100'000, 'x'));
}

// Sanitizers have a heap of their own.
#if !LAGTRAP_SANITIZED

std::string heaps() {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* const file = ::open_memstream(&text, &size);
    EXPECT_EQ(::malloc_info(0, file), 0);
    std::fclose(file);
    std::string report(text, size);
    std::free(text);
    return report;
}

// How many threads that run at once have a heap of their own, in a program with a small heap.
int count_heaps() {
    keep_heap_small();
    constexpr int thread_count = 8;
    std::latch all_have_one(thread_count);
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i)
        threads.emplace_back([&] {
            const auto block = std::make_unique<std::string>(1000, 'x');
            all_have_one.arrive_and_wait();
        });
    for (std::thread& thread : threads) thread.join();
    const std::string report = heaps();
    int count = 0;
    for (std::size_t at = report.find("<heap nr="); at != std::string::npos;
         at = report.find("<heap nr=", at + 1))
        ++count;
    return count;
}

TEST(HeapDeathTest, AllThreadsShareTwo) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(std::_Exit(count_heaps()), ::testing::ExitedWithCode(2), "");
}

// Blocks of a quarter of a MiB and more are mappings of their own, which end with them.
int mapped_bytes_of(std::size_t bytes) {
    keep_heap_small();
    const std::size_t before = ::mallinfo2().hblkhd;
    const auto block = std::make_unique<char[]>(bytes);
    return ::mallinfo2().hblkhd > before && block != nullptr ? 1 : 0;
}

TEST(HeapDeathTest, LargeBlocksAreMappings) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(std::_Exit(mapped_bytes_of(256 * 1024)), ::testing::ExitedWithCode(1), "");
    EXPECT_EXIT(std::_Exit(mapped_bytes_of(200 * 1024)), ::testing::ExitedWithCode(0), "");
}

// Frees what lies before a block that is still used.
int returned_pages() {
    std::vector<std::unique_ptr<char[]>> blocks;
    for (int i = 0; i < 1000; ++i) {
        blocks.push_back(std::make_unique<char[]>(50'000));
        std::fill_n(blocks.back().get(), 50'000, 'x');
    }
    blocks.erase(blocks.begin(), blocks.end() - 1);
    const auto resident_pages = [] {
        long whole = 0, resident = 0;
        std::FILE* const file = std::fopen("/proc/self/statm", "r");
        EXPECT_EQ(std::fscanf(file, "%ld %ld", &whole, &resident), 2);
        std::fclose(file);
        return resident;
    };
    const long before = resident_pages();
    return_free_memory();
    return before - resident_pages() > 5000 ? 1 : 0;
}

TEST(HeapDeathTest, FreePagesBetweenUsedOnesAreReturned) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(std::_Exit(returned_pages()), ::testing::ExitedWithCode(1), "");
}

#endif

}  // namespace
}  // namespace lagtrap::heap_test
