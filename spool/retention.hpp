// Decides which entries leave the spool when it is too old or too large. A pure function of its
// content.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lagtrap::spool {

// The folder that contains an entry.
enum class EntryState { Ready, Sending, Sent, Rejected };

// A bundle; a batch of runs, which is worth less; or a bundle's delays as spans, which can be made
// again while the bundle exists.
enum class EntryKind { Bundle, Batch, Spans };

struct RetentionEntry {
    EntryState state = EntryState::Ready;
    std::uint64_t size_bytes = 0;
    // since it was made; negative (the clock was set back) counts as new
    std::chrono::nanoseconds age{};
    EntryKind kind = EntryKind::Bundle;
};

struct RetentionLimits {
    std::uint64_t size_bytes = 0;    // total of all entries
    std::chrono::nanoseconds age{};  // maximum age of an entry
    // Free space the disk lacks. Entries that the server has, or rejected, are removed to make
    // room. Entries it has not seen are kept: room for a future recording is not worth losing an
    // existing one.
    std::uint64_t shortage_bytes = 0;
    // How long batches of runs stay after they were made, once the server has them.
    std::chrono::nanoseconds sent_batch_age{};
};

// Indexes of the entries to remove. Takes all that are too old first, and the oldest sent batches
// beyond an eighth of the limit. Then, until the rest fits, takes sent batches, other sent entries,
// rejected ones, ready batches and spans, and ready bundles, oldest first within each group. An
// entry being sent is kept, but its size counts.
[[nodiscard]] std::vector<std::size_t> choose_removals(const std::vector<RetentionEntry>& entries,
                                                       const RetentionLimits& limits);

// Free space that a disk of this size lacks for the next recording.
[[nodiscard]] std::uint64_t shortage_of_disk(std::uint64_t whole_bytes, std::uint64_t free_bytes);

// Detects that another process holds the retention lock for longer than the work takes, so that no
// retention happens. Not thread-safe.
class RetentionLock {
  public:
    // Call after each attempt. Returns true if the work has been left to another process for a
    // minute or more.
    [[nodiscard]] bool note(bool left_to_another, std::chrono::steady_clock::time_point now);

  private:
    std::optional<std::chrono::steady_clock::time_point> since_;
};

// What apply_retention() removed.
struct RetentionOutcome {
    std::uint32_t sent = 0;
    std::uint32_t rejected = 0;
    std::uint32_t unsent = 0;   // bundles the server never got
    std::uint32_t batches = 0;  // of runs, never sent
    std::uint64_t bytes = 0;
    bool left_to_another = false;  // another process holds the lock and does this work
    void add(const RetentionOutcome& other);
    // "removed 2 sent and 1 unsent bundles (12.0 MiB)"; empty if nothing was removed.
    [[nodiscard]] std::string describe() const;
};

}  // namespace lagtrap::spool
