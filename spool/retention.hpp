// Which bundles leave the spool when it grows too old or too large: a pure function of what lies there.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace lagtrap::spool {

// The folder an entry lies in.
enum class EntryState { Ready, Sending, Sent, Rejected };

// What an entry is: a bundle, or a batch of runs, which is worth less, or a bundle's delays as spans, which can be made anew
// while the bundle is there.
enum class EntryKind { Bundle, Batch, Spans };

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
// rejected ones, the ready batches and spans, and the ready bundles, the oldest of each first. An entry that is
// being sent stays, but its size counts.
[[nodiscard]] std::vector<std::size_t> choose_removals(const std::vector<RetentionEntry>& entries,
                                                       const RetentionLimits& limits);

// Notices that another process holds the lock of retention for longer than the work takes, so that nobody does it.
// Not thread-safe.
class RetentionLock {
  public:
    // To be told after each attempt whether it was left to another. True: it has been for a minute or more.
    [[nodiscard]] bool note(bool left_to_another, std::chrono::steady_clock::time_point now);

  private:
    std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace lagtrap::spool
