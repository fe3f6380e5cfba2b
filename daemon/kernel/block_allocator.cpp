#include "daemon/kernel/block_allocator.hpp"

#include <iterator>

namespace lagtrap::daemon {

void BlockAllocator::grow(std::uint32_t blocks) {
    add_free(size_, blocks);
    size_ += blocks;
}

void BlockAllocator::add_free(std::uint32_t first, std::uint32_t blocks) {
    auto place = free_.emplace(first, blocks).first;
    if (const auto next = std::next(place); next != free_.end() && first + blocks == next->first) {
        place->second += next->second;
        free_.erase(next);
    }
    if (place == free_.begin()) return;
    if (const auto before = std::prev(place); before->first + before->second == first) {
        before->second += place->second;
        free_.erase(place);
    }
}

std::optional<std::uint32_t> BlockAllocator::allocate(std::uint32_t blocks, std::uint32_t alignment,
                                                      Clock::time_point now) {
    while (!resting_.empty() && resting_.front().until <= now) {
        add_free(resting_.front().first, resting_.front().blocks);
        resting_.pop_front();
    }
    for (auto extent = free_.begin(); extent != free_.end(); ++extent) {
        const auto [start, length] = *extent;
        const std::uint32_t first = (start + alignment - 1) / alignment * alignment;
        const std::uint32_t skipped = first - start;
        if (skipped > length || length - skipped < blocks) continue;
        free_.erase(extent);
        if (skipped > 0) free_.emplace(start, skipped);
        if (length - skipped > blocks) free_.emplace(first + blocks, length - skipped - blocks);
        used_ += blocks;
        return first;
    }
    return std::nullopt;
}

void BlockAllocator::release(std::uint32_t first, std::uint32_t blocks, Clock::time_point now) {
    used_ -= blocks;
    resting_.push_back({first, blocks, now + rest_});
}

}  // namespace lagtrap::daemon
