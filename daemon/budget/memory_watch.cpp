#include "daemon/budget/memory_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "core/duration.hpp"
#include "core/heap.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// Each check reads three small files per group. A limit can be set at any time, so checks continue
// without one.
constexpr auto interval = 2s;
constexpr auto interval_without_limit = 10s;

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

MemoryWatch::MemoryWatch(boost::asio::io_context& context, std::optional<MemoryGroup> group,
                         Options options)
    : timer_(context), group_(std::move(group)), options_(std::move(options)) {
    if (!group_) return;
    killed_before_ = group_->killed();
    look();
    await_look();
}

void MemoryWatch::await_look() {
    timer_.expires_after(status_.use ? interval : interval_without_limit);
    timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        look();
        await_look();
    });
}

void MemoryWatch::look() {
    const MemoryHolds before = status_.holds;
    status_.use = group_->use();
    if (options_.mapping_bytes) status_.mapping_bytes = options_.mapping_bytes();
    status_.holds = budget_.look(status_.use);
    const auto tell = [&](bool was, bool is, const char* sentence, const char* again,
                          const auto& hold) {
        if (was == is) return;
        if (is) {
            ++status_.disabled_count;
            options_.warn(fmt::format("{} ({})", sentence, used_of(status_.use)));
        } else {
            options_.inform(fmt::format("{} ({})", again, used_of(status_.use)));
        }
        hold(is);
    };
    tell(before.tables, status_.holds.tables, tables_sentence,
         "memory is available for unwind tables again", options_.hold_tables);
    tell(before.merges, status_.holds.merges, merges_sentence,
         "memory is available for merges again", options_.hold_merges);
    if (status_.holds.tables && !before.tables) return_free_memory();
    const std::uint64_t killed = group_->killed() - killed_before_;
    if (killed > status_.killed)
        options_.warn(fmt::format(
            "the kernel killed {} processes of the unit so far: out of memory", killed));
    status_.killed = killed;
}

std::vector<std::string> MemoryWatch::disabled_now() const {
    std::vector<std::string> sentences;
    if (status_.holds.tables) sentences.emplace_back(tables_sentence);
    return sentences;
}

}  // namespace lagtrap::daemon
