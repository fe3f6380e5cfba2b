// The table of open runs, mapped from the kernel. BPF programs write to it at the same time; see
// bpf/event_monitor.h for the order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bpf/event_monitor.h"
#include "bpf/run_tag.h"
#include "core/result.hpp"
#include "daemon/kernel/mapped_map.hpp"

namespace lagtrap::daemon {

// Reads a value that a BPF program may be writing.
template <typename T>
[[nodiscard]] T load(const T& value) {
    return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}

// Not thread-safe.
class RunTable {
  public:
    // Maps a table of so many buckets, a power of two from LAGTRAP_MIN_BUCKETS to
    // LAGTRAP_MAX_BUCKETS.
    [[nodiscard]] static Result<RunTable> map(int tags_fd, int slots_fd, std::uint32_t buckets);
    // The smallest table with room for so many runs, in buckets; the largest if none has.
    [[nodiscard]] static std::uint32_t buckets_for(std::uint64_t runs);
    // The size for a machine with so much memory: the slots use at most 1/1024 of it.
    [[nodiscard]] static std::uint32_t buckets_in(std::uint64_t memory_bytes);

    [[nodiscard]] std::uint32_t buckets() const { return buckets_; }
    [[nodiscard]] std::size_t slots() const { return std::size_t{buckets_} * LAGTRAP_BUCKET_SLOTS; }
    // Number of runs that fit.
    [[nodiscard]] std::uint64_t limit() const {
        return std::uint64_t{buckets_} * LAGTRAP_BUCKET_TAGS;
    }
    [[nodiscard]] std::uint32_t first_bucket(std::uint64_t tag) const {
        return lagtrap_first_bucket(tag, buckets_);
    }
    [[nodiscard]] std::uint32_t second_bucket(std::uint64_t tag) const {
        return lagtrap_second_bucket(tag, buckets_);
    }

    [[nodiscard]] std::uint64_t& tag(std::size_t index) const {
        return static_cast<std::uint64_t*>(tags_.at)[index];
    }
    [[nodiscard]] std::uint64_t& state(std::uint32_t bucket) const {
        return tag(std::size_t{bucket} * LAGTRAP_BUCKET_SLOTS + LAGTRAP_BUCKET_TAGS);
    }
    [[nodiscard]] lagtrap_slot& slot(std::size_t index) const {
        return static_cast<lagtrap_slot*>(slots_.at)[index];
    }

    // True for words of the table that hold no tag.
    [[nodiscard]] static bool is_state(std::size_t index) {
        return index % LAGTRAP_BUCKET_SLOTS == LAGTRAP_BUCKET_TAGS;
    }
    [[nodiscard]] std::size_t places_used(std::uint32_t bucket) const;
    // Calls `each` with index and tag of every open run.
    template <typename Each>
    void for_each_open(Each each) const {
        for (std::uint32_t bucket = 0; bucket < buckets_; ++bucket) for_each_open_in(bucket, each);
    }
    template <typename Each>
    void for_each_open_in(std::uint32_t bucket, Each each) const {
        const std::size_t first = std::size_t{bucket} * LAGTRAP_BUCKET_SLOTS;
        for (std::size_t index = first; index < first + LAGTRAP_BUCKET_TAGS; ++index) {
            const std::uint64_t tag_here = load(tag(index));
            if (tag_here != 0 && tag_here != LAGTRAP_TAG_TAKEN) each(index, tag_here);
        }
    }

    // Likewise, with the runs past their deadline first, until `each` returns false.
    template <typename Each>
    void for_each_overdue_first(std::uint64_t now_ns, Each each) const {
        bool goes_on = true;
        for (const bool overdue : {true, false})
            for (std::uint32_t bucket = 0; bucket < buckets_ && goes_on; ++bucket)
                for_each_open_in(bucket, [&](std::size_t index, std::uint64_t tag_here) {
                    if (goes_on && (load(slot(index).deadline_ns) < now_ns) == overdue)
                        goes_on = each(index, tag_here);
                });
    }

    // What a visit returns so that the next pass visits the run again.
    static constexpr std::uint64_t at_next_pass_ns = 1;
    // Calls `visit` with index and tag of the open runs in all buckets that are due at `now_ns`; of
    // every open run if `all` is set. It returns when the run must be visited again, or
    // LAGTRAP_NEVER_NS. Returns when the first of the buckets that were not visited is due.
    template <typename Visit>
    std::uint64_t visit_due(std::uint64_t now_ns, bool all, Visit visit) const {
        std::uint64_t next_ns = LAGTRAP_NEVER_NS;
        for (std::uint32_t bucket = 0; bucket < buckets_; ++bucket) {
            const std::uint64_t due_ns = load(state(bucket)) & ~LAGTRAP_SPILLED_MASK;
            if (due_ns == 0 && !all) continue;
            // Where all runs have ended, none need be waited for.
            if (due_ns <= now_ns || all || places_used(bucket) == 0)
                visit_bucket(bucket, visit);
            else
                next_ns = std::min(next_ns, due_ns);
        }
        return next_ns;
    }
    // Has the run in this slot visited by `due_ns`, rounded up.
    void want_visit(std::size_t index, std::uint64_t due_ns) const;

    // Returns a copy; nullopt if the run ended or was replaced during the copy.
    [[nodiscard]] std::optional<lagtrap_run> read(std::size_t index, std::uint64_t tag) const;
    // False if the run ended or was replaced first.
    bool free(std::size_t index, std::uint64_t tag);

  private:
    // A begin during the visit finds the bucket without a time, and sets one.
    template <typename Visit>
    void visit_bucket(std::uint32_t bucket, Visit visit) const {
        __atomic_fetch_and(&state(bucket), LAGTRAP_SPILLED_MASK, __ATOMIC_SEQ_CST);
        const std::size_t first = std::size_t{bucket} * LAGTRAP_BUCKET_SLOTS;
        std::uint64_t due_ns = LAGTRAP_NEVER_NS;
        for (std::size_t index = first; index < first + LAGTRAP_BUCKET_TAGS; ++index) {
            const std::uint64_t tag_here = load(tag(index));
            // being ended, or begun again
            if (tag_here == LAGTRAP_TAG_TAKEN) due_ns = at_next_pass_ns;
            if (tag_here != 0 && tag_here != LAGTRAP_TAG_TAKEN)
                due_ns = std::min(due_ns, visit(index, tag_here));
        }
        if (due_ns != LAGTRAP_NEVER_NS) want_visit(first, due_ns);
    }
    MappedMap tags_, slots_;
    std::uint32_t buckets_ = 0;
};

}  // namespace lagtrap::daemon
