#include "daemon/budget/memory_watch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "core/duration.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// Each check reads three small files per group.
constexpr auto interval_with_limit = 2s, interval_without_limit = 10s;

constexpr const char* tables_sentence =
    "the unit is low on memory: new programs get no unwind tables, so their stacks end early";
constexpr const char* merges_sentence = "the unit is low on memory: recordings wait to be merged";

std::string used_of(const std::optional<MemoryUse>& use) {
    if (!use) return "its limit was removed";
    return fmt::format("{} of {} are used", format_byte_size(use->used_bytes),
                       format_byte_size(use->limit_bytes));
}

}  // namespace

std::uint64_t MemoryBudget::min_room_bytes(std::uint64_t limit_bytes) {
    return std::min<std::uint64_t>(limit_bytes / 4, 128ULL << 20);
}

MemoryHolds MemoryBudget::look(const std::optional<MemoryUse>& use) {
    if (!use) return holds_ = {};
    const std::uint64_t least = min_room_bytes(use->limit_bytes);
    const auto short_of = [room = use->room_bytes()](std::uint64_t wanted, bool held) {
        return room < (held ? wanted + wanted / 2 : wanted);
    };
    return holds_ = {short_of(least, holds_.tables), short_of(least / 2, holds_.merges)};
}

MemoryWatch::MemoryWatch(std::optional<MemoryGroup> group, Log log)
    : group_(std::move(group)), log_(std::move(log)) {
    if (group_) killed_before_ = group_->killed();
}

std::optional<std::chrono::seconds> MemoryWatch::interval() const {
    if (!group_) return std::nullopt;
    return status_.use ? interval_with_limit : interval_without_limit;
}

MemoryHolds MemoryWatch::look(std::uint64_t mapping_bytes) {
    if (!group_) return {};
    const MemoryHolds before = status_.holds;
    status_.use = group_->use();
    status_.mapping_bytes = mapping_bytes;
    status_.holds = budget_.look(status_.use);
    log_change(before.tables, status_.holds.tables, tables_sentence,
               "memory is available for unwind tables again");
    log_change(before.merges, status_.holds.merges, merges_sentence,
               "memory is available for merges again");
    const std::uint64_t killed = group_->killed() - killed_before_;
    if (killed > status_.killed)
        log_.warn(fmt::format("the kernel killed {} processes of the unit so far: out of memory",
                              killed));
    status_.killed = killed;
    return status_.holds;
}

void MemoryWatch::log_change(bool was, bool is, const char* sentence, const char* again) {
    if (was == is) return;
    const std::string text = fmt::format("{} ({})", is ? sentence : again, used_of(status_.use));
    if (!is) return log_.inform(text);
    ++status_.disabled_count;
    log_.warn(text);
}

std::vector<std::string> MemoryWatch::disabled_now() const {
    std::vector<std::string> sentences;
    if (status_.holds.tables) sentences.emplace_back(tables_sentence);
    return sentences;
}

}  // namespace lagtrap::daemon
