#include "binaries/unwind/unwind_table_builder.hpp"

#include <bit>
#include <cstring>

namespace lagtrap::binaries {
namespace {

constexpr std::uint32_t rule_mask = LAGTRAP_UNWIND_MAX_RULES - 1;

std::uint64_t bits_of(const lagtrap_unwind_rule& rule) {
    return std::bit_cast<std::uint64_t>(rule);
}

}  // namespace

RuleNumbers::RuleNumbers() : slots_(256) {
    rules_.push_back({});
    slots_[slot_of({})] = 1;
}

// The slot of the rule, or the free slot for it.
std::size_t RuleNumbers::slot_of(const lagtrap_unwind_rule& rule) const {
    constexpr std::uint64_t mixer = 0x9e3779b97f4a7c15;
    const std::uint64_t mixed = bits_of(rule) * mixer;
    std::size_t slot = (mixed ^ mixed >> 32) % slots_.size();
    while (slots_[slot] != 0 && bits_of(rules_[slots_[slot] - 1]) != bits_of(rule))
        slot = (slot + 1) % slots_.size();
    return slot;
}

void RuleNumbers::grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (std::uint32_t number = 0; number < rules_.size(); ++number)
        slots_[slot_of(rules_[number])] = number + 1;
}

std::uint32_t RuleNumbers::number_of(const lagtrap_unwind_rule& rule) {
    if (bits_of(rules_[last_]) == bits_of(rule)) return last_;
    std::size_t slot = slot_of(rule);
    if (slots_[slot] == 0) {
        if (rules_.size() * 2 > slots_.size()) {
            grow();
            slot = slot_of(rule);
        }
        rules_.push_back(rule);
        slots_[slot] = static_cast<std::uint32_t>(rules_.size());
    }
    last_ = slots_[slot] - 1;
    return last_;
}

UnwindTableBuilder::UnwindTableBuilder(std::uint32_t bucket_count) : buckets_(bucket_count) {
    open_[0] = 0;
    open_count_ = 1;
}

void UnwindTableBuilder::put(std::uint64_t offset, const lagtrap_unwind_rule& rule) {
    const auto bucket = static_cast<std::uint32_t>(offset / LAGTRAP_UNWIND_BUCKET_BYTES);
    const auto place = static_cast<std::uint32_t>(offset % LAGTRAP_UNWIND_BUCKET_BYTES);
    while (open_bucket_ < bucket) finish_bucket();
    in_force_ = numbers_.number_of(rule);
    if (open_[open_count_ - 1] >> LAGTRAP_UNWIND_RULE_BITS == place) --open_count_;
    if (open_count_ > 0 && (open_[open_count_ - 1] & rule_mask) == in_force_) return;
    open_[open_count_++] = place << LAGTRAP_UNWIND_RULE_BITS | (in_force_ & rule_mask);
}

void UnwindTableBuilder::finish_bucket() {
    const bool is_gap = open_count_ == 1 && (open_[0] & rule_mask) == 0;
    if (!is_gap) {
        const std::size_t used = rows_.size() % LAGTRAP_UNWIND_ROWS_PER_PAGE;
        if (used + open_count_ > LAGTRAP_UNWIND_ROWS_PER_PAGE)
            rows_.resize(rows_.size() + LAGTRAP_UNWIND_ROWS_PER_PAGE - used);
        buckets_[open_bucket_] = {static_cast<__u32>(rows_.size()), open_count_};
        rows_.insert(rows_.end(), open_.begin(), open_.begin() + open_count_);
    }
    ++open_bucket_;
    open_[0] = in_force_;
    open_count_ = 1;
}

bool UnwindTableBuilder::too_large() const {
    const std::uint64_t pages = pages_for(buckets_.size(), LAGTRAP_UNWIND_BUCKETS_PER_PAGE) +
                                pages_for(numbers_.rules().size(), LAGTRAP_UNWIND_RULES_PER_PAGE) +
                                pages_for(rows_.size() + open_count_, LAGTRAP_UNWIND_ROWS_PER_PAGE);
    return pages * LAGTRAP_UNWIND_PAGE_BYTES > max_unwind_table_bytes;
}

void UnwindTableBuilder::finish(UnwindTable& table) {
    while (open_bucket_ < buckets_.size()) finish_bucket();
    const auto& rules = numbers_.rules();
    table.bucket_count = static_cast<std::uint32_t>(buckets_.size());
    table.rule_page =
        static_cast<std::uint32_t>(pages_for(buckets_.size(), LAGTRAP_UNWIND_BUCKETS_PER_PAGE));
    table.row_page = table.rule_page + static_cast<std::uint32_t>(
                                           pages_for(rules.size(), LAGTRAP_UNWIND_RULES_PER_PAGE));
    table.page_count = table.row_page + static_cast<std::uint32_t>(
                                            pages_for(rows_.size(), LAGTRAP_UNWIND_ROWS_PER_PAGE));
    for (auto& bucket : buckets_) {
        if (bucket.row_count == 0) continue;
        for (std::uint32_t row = 0; row < bucket.row_count; ++row) {
            const auto& rule = rules[rows_[bucket.first_row + row] & rule_mask];
            if (rule.kind_and_rbp == LAGTRAP_UNWIND_UNSUPPORTED) ++table.unsupported_rows;
        }
        table.row_count += bucket.row_count;
        bucket.first_row += table.row_page * LAGTRAP_UNWIND_ROWS_PER_PAGE;
    }
    table.pages.assign(table.size_bytes() / sizeof(std::uint64_t), 0);
    auto* const bytes = reinterpret_cast<char*>(table.pages.data());
    std::memcpy(bytes, buckets_.data(), buckets_.size() * sizeof buckets_[0]);
    std::memcpy(bytes + std::size_t{table.rule_page} * LAGTRAP_UNWIND_PAGE_BYTES, rules.data(),
                rules.size() * sizeof rules[0]);
    if (!rows_.empty())
        std::memcpy(bytes + std::size_t{table.row_page} * LAGTRAP_UNWIND_PAGE_BYTES, rows_.data(),
                    rows_.size() * sizeof rows_[0]);
}

}  // namespace lagtrap::binaries
