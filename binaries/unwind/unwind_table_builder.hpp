// Writes the rules of a file's code, given by ascending address, into the pages of bpf/unwind.h.
// Internal to binaries/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "binaries/unwind/unwind_table.hpp"

namespace lagtrap::binaries {

// Assigns numbers to rules; equal rules get the same one. 0 is LAGTRAP_UNWIND_GAP.
class RuleNumbers {
  public:
    RuleNumbers();
    [[nodiscard]] std::uint32_t number_of(const lagtrap_unwind_rule& rule);
    [[nodiscard]] const std::vector<lagtrap_unwind_rule>& rules() const { return rules_; }

  private:
    [[nodiscard]] std::size_t slot_of(const lagtrap_unwind_rule& rule) const;
    void grow();

    std::vector<lagtrap_unwind_rule> rules_;
    std::vector<std::uint32_t> slots_;  // number + 1; 0 if free
    std::uint32_t last_ = 0;
};

class UnwindTableBuilder {
  public:
    // For code of `bucket_count` buckets.
    explicit UnwindTableBuilder(std::uint32_t bucket_count);

    // `rule` applies from `offset` on (relative to the start of the first bucket). Offsets must not
    // descend and must lie in the buckets; of several rules at an offset, the last applies.
    void put(std::uint64_t offset, const lagtrap_unwind_rule& rule);
    // True if the table would exceed max_unwind_table_bytes; then stop.
    [[nodiscard]] bool too_large() const;
    // Sets the pages and counts of `table`. Call once, last.
    void finish(UnwindTable& table);

  private:
    void finish_bucket();

    RuleNumbers numbers_;
    std::vector<lagtrap_unwind_bucket> buckets_;
    // including unused space at ends of pages
    std::vector<std::uint32_t> rows_;
    std::array<std::uint32_t, LAGTRAP_UNWIND_BUCKET_BYTES> open_{};  // the current bucket
    std::uint32_t open_count_ = 0;
    std::uint32_t open_bucket_ = 0;
    std::uint32_t in_force_ = 0;
};

}  // namespace lagtrap::binaries
