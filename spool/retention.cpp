#include "spool/retention.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/duration.hpp"

namespace lagtrap::spool {
namespace {

constexpr int last_rank_for_room = 2;
constexpr std::uint64_t sent_batches_part = 8;  // of the limit
// Space to keep free on the disk: this much, or this fraction of the disk if that is less.
constexpr std::uint64_t room_bytes = 64ULL << 20;
constexpr std::uint64_t room_part = 20;
constexpr std::chrono::minutes held_limit{1};

int removal_rank(const RetentionEntry& entry) {
    switch (entry.state) {
        case EntryState::Sent: return entry.kind == EntryKind::Batch ? 0 : 1;
        case EntryState::Rejected: return 2;
        case EntryState::Ready: return entry.kind == EntryKind::Bundle ? 4 : 3;
        case EntryState::Sending: break;
    }
    return 5;
}

bool is_sent_batch(const RetentionEntry& entry) {
    return entry.state == EntryState::Sent && entry.kind == EntryKind::Batch;
}

bool is_too_old(const RetentionEntry& entry, const RetentionLimits& limits) {
    if (entry.state == EntryState::Sending) return false;
    return entry.age > limits.age || (is_sent_batch(entry) && entry.age > limits.sent_batch_age);
}

}  // namespace

std::vector<std::size_t> choose_removals(const std::vector<RetentionEntry>& entries,
                                         const RetentionLimits& limits) {
    std::vector<std::size_t> removals;
    std::vector<std::size_t> kept;
    std::uint64_t total_bytes = 0;
    std::uint64_t sent_batches_bytes = 0;
    std::uint64_t shortage_bytes = limits.shortage_bytes;
    const auto remove = [&](std::size_t index) {
        removals.push_back(index);
        shortage_bytes -= std::min(shortage_bytes, entries[index].size_bytes);
    };
    for (std::size_t index = 0; index < entries.size(); ++index) {
        const RetentionEntry& entry = entries[index];
        if (is_too_old(entry, limits)) {
            remove(index);
            continue;
        }
        total_bytes += entry.size_bytes;
        if (is_sent_batch(entry)) sent_batches_bytes += entry.size_bytes;
        if (entry.state != EntryState::Sending) kept.push_back(index);
    }
    std::stable_sort(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) {
        const int rank_a = removal_rank(entries[a]);
        const int rank_b = removal_rank(entries[b]);
        return rank_a != rank_b ? rank_a < rank_b : entries[a].age > entries[b].age;
    });
    for (const std::size_t index : kept) {
        const bool for_room =
            shortage_bytes > 0 && removal_rank(entries[index]) <= last_rank_for_room;
        const bool too_many_batches = is_sent_batch(entries[index]) &&
                                      sent_batches_bytes > limits.size_bytes / sent_batches_part;
        if (total_bytes <= limits.size_bytes && !for_room && !too_many_batches) break;
        total_bytes -= entries[index].size_bytes;
        if (is_sent_batch(entries[index])) sent_batches_bytes -= entries[index].size_bytes;
        remove(index);
    }
    return removals;
}

std::uint64_t shortage_of_disk(std::uint64_t whole_bytes, std::uint64_t free_bytes) {
    const std::uint64_t wanted_bytes = std::min(room_bytes, whole_bytes / room_part);
    return wanted_bytes > free_bytes ? wanted_bytes - free_bytes : 0;
}

bool RetentionLock::note(bool left_to_another, std::chrono::steady_clock::time_point now) {
    if (!left_to_another) {
        since_.reset();
        return false;
    }
    if (!since_) since_ = now;
    return now - *since_ >= held_limit;
}

void RetentionOutcome::add(const RetentionOutcome& other) {
    sent += other.sent;
    rejected += other.rejected;
    unsent += other.unsent;
    batches += other.batches;
    bytes += other.bytes;
}

std::string RetentionOutcome::describe() const {
    std::vector<std::string> parts;
    const auto add_part = [&parts](std::uint32_t count, const char* what) {
        if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
    };
    add_part(sent, "sent");
    add_part(rejected, "rejected");
    add_part(unsent, "never sent");
    add_part(batches, "unsent batches of runs");
    if (parts.empty()) return {};
    return fmt::format("removed bundles to enforce the limits of the spool: {} ({})",
                       fmt::join(parts, ", "), format_byte_size(bytes));
}

}  // namespace lagtrap::spool
