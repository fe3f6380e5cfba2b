// Puts the rules of a file's code, given in the order of its addresses, into the pages of bpf/unwind.h. Used by the
// other files of this folder.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "binaries/unwind/unwind_table.hpp"

namespace lagtrap::binaries {

// Numbers for rules, the same for equal ones; 0 is LAGTRAP_UNWIND_GAP.
class RuleNumbers {
  public:
    RuleNumbers();
    [[nodiscard]] std::uint32_t number_of(const lagtrap_unwind_rule& rule);
    [[nodiscard]] const std::vector<lagtrap_unwind_rule>& rules() const { return rules_; }

  private:
    [[nodiscard]] std::size_t slot_of(const lagtrap_unwind_rule& rule) const;
    void grow();

    std::vector<lagtrap_unwind_rule> rules_;
    std::vector<std::uint32_t> slots_;  // number + 1; 0: free
    std::uint32_t last_ = 0;
};

class UnwindTableBuilder {
  public:
    // For the code of `bucket_count` buckets.
    explicit UnwindTableBuilder(std::uint32_t bucket_count);

    // From `offset` (from the first bucket's start) on `rule` is in force. Offsets do not descend and lie in the buckets;
    // of several rules for one the last holds.
    void put(std::uint64_t offset, const lagtrap_unwind_rule& rule);
    // The table would be larger than max_unwind_table_bytes: nothing more needs to be put.
    [[nodiscard]] bool too_large() const;
    // Fills in the parts of `table` that speak of pages and counts. Once, and last.
    void finish(UnwindTable& table);

  private:
    void finish_bucket();

    RuleNumbers numbers_;
    std::vector<lagtrap_unwind_bucket> buckets_;
    std::vector<std::uint32_t> rows_;                                // with the unused ends of pages
    std::array<std::uint32_t, LAGTRAP_UNWIND_BUCKET_BYTES> open_{};  // the bucket that rules are put into
    std::uint32_t open_count_ = 0;
    std::uint32_t open_bucket_ = 0;
    std::uint32_t in_force_ = 0;
};

}  // namespace lagtrap::binaries
