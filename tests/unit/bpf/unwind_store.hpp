// The tables that tell where callers' frames are, as the daemon stores them.
#pragma once

#include <vector>

#include "bpf/unwind.h"
#include "tests/unit/bpf/native_kernel.hpp"
#include "tests/unit/bpf/unwind_maps.h"

namespace lagtrap::native {

// DWARF numbers of registers.
constexpr int rax = 0, rbx = 3, rbp = 6, rsp = 7;

// The rule from this offset of the table on.
struct Row {
    std::uint32_t offset;
    lagtrap_unwind_rule rule;
};

// The caller's frame is at `offset` from a register.
inline lagtrap_unwind_rule by(int number, int offset,
                              lagtrap_unwind_kind kind = LAGTRAP_UNWIND_REGISTER) {
    lagtrap_unwind_rule rule{};
    rule.cfa_offset = offset;
    rule.kind_and_rbp = static_cast<__u8>(kind);
    rule.register_and_add = static_cast<__u8>(number);
    return rule;
}
inline lagtrap_unwind_rule only(lagtrap_unwind_kind kind) { return by(0, 0, kind); }

// The same, and where the caller's rbp is.
inline lagtrap_unwind_rule with_rbp(lagtrap_unwind_rule rule, lagtrap_unwind_rbp place,
                                    int offset = 0) {
    rule.kind_and_rbp = static_cast<__u8>(rule.kind_and_rbp | place << 4);
    rule.rbp_offset = static_cast<__s16>(offset);
    return rule;
}

// Where a table lies. Pages are relative to the first one.
struct Layout {
    std::uint32_t first_page = 100, bucket_count = 4, rule_page = 1, row_page = 2;
    std::uint32_t first_rule = 0, first_row = 0;
};

class UnwindStore {
  protected:
    template <typename T>
    static T& in_page(std::uint32_t page, std::uint32_t index) {
        constexpr std::uint32_t count = LAGTRAP_UNWIND_PAGE_BYTES / sizeof(T);
        page += index / count;
        auto& found = Kernel::instance().at<lagtrap_unwind_page>(
            unwind_maps.regions[page / LAGTRAP_UNWIND_REGION_PAGES],
            page % LAGTRAP_UNWIND_REGION_PAGES);
        return reinterpret_cast<T*>(&found)[index % count];
    }
    static lagtrap_unwind_table& table(std::uint32_t number) {
        return Kernel::instance().at<lagtrap_unwind_table>(unwind_maps.tables, number);
    }
    // `rows` ascend, and the first one of a bucket is at its begin.
    static void add_table(std::uint32_t number, const std::vector<Row>& rows, Layout at = {}) {
        table(number) = {
            LAGTRAP_UNWIND_TABLE_READY, at.first_page, at.bucket_count, at.rule_page, 0, 0};
        for (std::uint32_t i = 0; i < at.bucket_count; ++i)
            in_page<lagtrap_unwind_bucket>(at.first_page, i) = {};
        std::uint32_t rule = at.first_rule, place = at.first_row;
        for (const Row& row : rows) {
            in_page<lagtrap_unwind_rule>(at.first_page + at.rule_page, rule) = row.rule;
            auto& bucket = in_page<lagtrap_unwind_bucket>(at.first_page,
                                                          row.offset / LAGTRAP_UNWIND_BUCKET_BYTES);
            if (bucket.row_count++ == 0)
                bucket.first_row = at.row_page * LAGTRAP_UNWIND_ROWS_PER_PAGE + place;
            in_page<__u32>(at.first_page + at.row_page, place) =
                row.offset % LAGTRAP_UNWIND_BUCKET_BYTES << LAGTRAP_UNWIND_RULE_BITS | rule;
            ++rule;
            ++place;
        }
    }
    // All executable mappings of process 100.
    static void map(const std::vector<lagtrap_unwind_mapping>& mappings,
                    std::uint32_t first_block = 8) {
        for (std::uint32_t i = 0; i < mappings.size(); ++i)
            in_page<lagtrap_unwind_mapping>(
                first_block / 4, first_block % 4 * LAGTRAP_UNWIND_MAPPINGS_PER_BLOCK + i) =
                mappings[i];
        const lagtrap_unwind_space space{first_block, static_cast<__u32>(mappings.size())};
        const std::uint32_t process = 100;
        native_update(unwind_maps.processes, &process, &space);
    }
};

}  // namespace lagtrap::native
