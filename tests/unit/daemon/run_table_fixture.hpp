// Shared by tests of the table of open runs: its memory, as the programs in the kernel see it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/unique_fd.hpp"
#include "daemon/events/run_table.hpp"

namespace lagtrap::daemon {

// Memory that can be mapped like a BPF map.
inline UniqueFd memory_of(const char* name, std::size_t bytes) {
    UniqueFd memory(::memfd_create(name, MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(bytes)), 0);
    return memory;
}

class RunTableFixture : public testing::Test {
  protected:
    static constexpr std::uint32_t buckets = LAGTRAP_MIN_BUCKETS;

    // The tag of a run whose buckets are these.
    static std::uint64_t tag_in(std::uint32_t first, std::uint32_t second) {
        return std::uint64_t{second} << 40 | std::uint64_t{first} << 8 | 1;
    }
    static std::size_t index_of(std::uint32_t bucket, std::uint32_t place) {
        return std::size_t{bucket} * LAGTRAP_BUCKET_SLOTS + place;
    }
    // Opens a run in the first of its buckets.
    lagtrap_slot& open(std::uint32_t bucket, std::uint32_t place, std::uint64_t deadline_ns) {
        table.tag(index_of(bucket, place)) = tag_in(bucket, 0);
        lagtrap_slot& slot = table.slot(index_of(bucket, place));
        slot.deadline_ns = deadline_ns;
        return slot;
    }

    UniqueFd tags = memory_of("tags", buckets * sizeof(lagtrap_bucket)),
             slots = memory_of("slots", buckets*LAGTRAP_BUCKET_SLOTS * sizeof(lagtrap_slot));
    RunTable table = RunTable::map(tags.get(), slots.get(), buckets).value();
};

}  // namespace lagtrap::daemon
