#include "daemon/events/run_table.hpp"

#include <algorithm>

#include "bpf/run_tag.h"

namespace lagtrap::daemon {

Result<RunTable> RunTable::map(int tags_fd, int slots_fd) {
    constexpr const char* what = "the table of open runs";
    RunTable table;
    TRY_ASSIGN(table.tags_, MappedMap::map(tags_fd, sizeof(lagtrap_bucket), LAGTRAP_BUCKETS, what));
    TRY_ASSIGN(table.slots_, MappedMap::map(slots_fd, sizeof(lagtrap_slot), LAGTRAP_OPEN_SLOTS, what));
    return table;
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
    run.stage_count = static_cast<std::uint8_t>(std::min<std::uint32_t>(stages, LAGTRAP_MAX_STAGES));
    if ((run.flags & LAGTRAP_RUN_WITHOUT_STAGES) != 0) run.stage_count = 0;
    return run;
}

bool RunTable::free(std::size_t index, std::uint64_t tag) {
    std::uint64_t expected = tag;
    if (!__atomic_compare_exchange_n(&this->tag(index), &expected, LAGTRAP_TAG_TAKEN, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&slot(index).deadline_ns, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&this->tag(index), 0, __ATOMIC_RELEASE);
    const std::size_t first = lagtrap_first_bucket(tag);
    if (first != index / LAGTRAP_BUCKET_SLOTS)
        __atomic_fetch_sub(&this->tag(first * LAGTRAP_BUCKET_SLOTS + LAGTRAP_BUCKET_TAGS), 1, __ATOMIC_ACQ_REL);
    return true;
}

}  // namespace lagtrap::daemon
