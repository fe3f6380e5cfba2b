// Which bundles leave the spool when it grows too old or too large: a pure function of what lies there.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace lagtrap::uploader {

// The folder an entry lies in.
enum class EntryState { Ready, Sending, Sent, Rejected };

// What an entry is: a bundle, or a batch of runs, which is worth less.
enum class EntryKind { Bundle, Batch };

struct RetentionEntry {
    EntryState state = EntryState::Ready;
    std::uint64_t size_bytes = 0;
    std::chrono::nanoseconds age{};  // since it was made; negative (a clock that jumped back) counts as new
    EntryKind kind = EntryKind::Bundle;
};

struct RetentionLimits {
    std::uint64_t size_bytes = 0;    // of all entries together
    std::chrono::nanoseconds age{};  // an entry older than this goes
    // So much less than it should have has the disk itself. What the server has, or never takes, makes room; what it has
    // not seen yet does not go for the sake of what is not recorded yet.
    std::uint64_t shortage_bytes = 0;
};

// Indices of the entries to remove. First all that are too old; then, until the rest fits, the sent ones, the
// rejected ones, the ready batches and the ready bundles, the oldest of each first. An entry that is
// being sent stays, but its size counts.
[[nodiscard]] std::vector<std::size_t> choose_removals(const std::vector<RetentionEntry>& entries,
                                                       const RetentionLimits& limits);

}  // namespace lagtrap::uploader
