#include "daemon/kernel/mapped_map.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon::mapped_map_test {
namespace {

UniqueFd memory_of(std::size_t bytes) {
    UniqueFd memory(::memfd_create("map", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(bytes)), 0);
    return memory;
}

TEST(MappedMap, IsSharedWithWhoeverElseHasIt) {
    const UniqueFd memory = memory_of(4096);
    auto mapped = MappedMap::map(memory.get(), 8, 4, "counts");
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped->bytes, 32U);
    std::memcpy(mapped->at, "lagtrap", 8);
    char read[8]{};
    ASSERT_EQ(::pread(memory.get(), read, sizeof(read), 0), 8);
    EXPECT_STREQ(read, "lagtrap");
}

TEST(MappedMap, AnErrorSaysWhat) {
    const auto mapped = MappedMap::map(-1, 8, 4, "the quotas of runs");
    ASSERT_FALSE(mapped);
    EXPECT_THAT(mapped.error().message, testing::StartsWith("map the quotas of runs: "));
}

TEST(MappedMap, BelongsToTheOneItWasMovedTo) {
    const UniqueFd memory = memory_of(4096);
    MappedMap first = MappedMap::map(memory.get(), 8, 4, "counts").value();
    void* const at = first.at;
    MappedMap second(std::move(first));
    EXPECT_EQ(second.at, at);
    EXPECT_EQ(second.bytes, 32U);
    MappedMap third;
    third = std::move(second);
    EXPECT_EQ(third.at, at);
    EXPECT_EQ(third.bytes, 32U);
    std::memcpy(third.at, "still", 6);
}

}  // namespace
}  // namespace lagtrap::daemon::mapped_map_test
