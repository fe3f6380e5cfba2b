#include "daemon/events/run_table.hpp"

#include <algorithm>
#include <bit>

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t memory_share = 1024;

}  // namespace

Result<RunTable> RunTable::map(int tags_fd, int slots_fd, std::uint32_t buckets) {
    constexpr const char* what = "the table of open runs";
    RunTable table;
    table.buckets_ = buckets;
    TRY_ASSIGN(table.tags_, MappedMap::map(tags_fd, sizeof(lagtrap_bucket), buckets, what));
    TRY_ASSIGN(table.slots_, MappedMap::map(slots_fd, sizeof(lagtrap_slot), table.slots(), what));
    return table;
}

std::uint32_t RunTable::buckets_for(std::uint64_t runs) {
    // Beyond about two thirds, some runs find both of their buckets full.
    const std::uint64_t wanted =
        std::min<std::uint64_t>(runs + runs / 2, LAGTRAP_MAX_BUCKETS * LAGTRAP_BUCKET_TAGS) /
            LAGTRAP_BUCKET_TAGS +
        1;
    return std::bit_ceil(static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(wanted, LAGTRAP_MIN_BUCKETS, LAGTRAP_MAX_BUCKETS)));
}

std::uint32_t RunTable::buckets_in(std::uint64_t memory_bytes) {
    const std::uint64_t most =
        memory_bytes / memory_share / (sizeof(lagtrap_slot) * LAGTRAP_BUCKET_SLOTS);
    return std::bit_floor(static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(most, LAGTRAP_MIN_BUCKETS, LAGTRAP_MAX_BUCKETS)));
}

std::size_t RunTable::places_used(std::uint32_t bucket) const {
    const std::uint64_t* const tags = &tag(std::size_t{bucket} * LAGTRAP_BUCKET_SLOTS);
    return static_cast<std::size_t>(std::count_if(
        tags, tags + LAGTRAP_BUCKET_TAGS, [](const std::uint64_t& one) { return load(one) != 0; }));
}

// Like want_look_at() in bpf/run_table.bpf.h.
void RunTable::want_visit(std::size_t index, std::uint64_t due_ns) const {
    due_ns = (due_ns + LAGTRAP_SPILLED_MASK) & ~LAGTRAP_SPILLED_MASK;
    std::uint64_t& state = this->state(static_cast<std::uint32_t>(index / LAGTRAP_BUCKET_SLOTS));
    std::uint64_t old = load(state);
    for (;;) {
        const std::uint64_t earliest_ns = old & ~LAGTRAP_SPILLED_MASK;
        if (earliest_ns != 0 && earliest_ns <= due_ns) return;
        if (__atomic_compare_exchange_n(&state, &old, due_ns | (old & LAGTRAP_SPILLED_MASK), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
            return;
    }
}

std::optional<lagtrap_run> RunTable::read(std::size_t index, std::uint64_t tag) const {
    const lagtrap_slot& slot = this->slot(index);
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    if (deadline_ns == 0) return std::nullopt;
    lagtrap_run run = slot.run;
    // The slot may have been freed and even reused during the copy.
    if (load(this->tag(index)) != tag || load(slot.deadline_ns) != deadline_ns) return std::nullopt;
    // Without the upper bits, which identify the run.
    const auto stages = static_cast<std::uint32_t>(load(slot.stage_next));
    run.stage_count =
        static_cast<std::uint8_t>(std::min<std::uint32_t>(stages, LAGTRAP_MAX_STAGES));
    if ((run.flags & LAGTRAP_RUN_WITHOUT_STAGES) != 0) run.stage_count = 0;
    return run;
}

bool RunTable::free(std::size_t index, std::uint64_t tag) {
    std::uint64_t expected = tag;
    if (!__atomic_compare_exchange_n(&this->tag(index), &expected, LAGTRAP_TAG_TAKEN, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&slot(index).deadline_ns, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&this->tag(index), 0, __ATOMIC_RELEASE);
    if (first_bucket(tag) != index / LAGTRAP_BUCKET_SLOTS)
        __atomic_fetch_sub(&state(first_bucket(tag)), 1, __ATOMIC_ACQ_REL);
    return true;
}

}  // namespace lagtrap::daemon
