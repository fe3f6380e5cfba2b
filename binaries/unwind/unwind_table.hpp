// Builds the tables with which BPF programs unwind stacks of code without frame pointers
// (bpf/unwind.h), from one file's unwind information: .eh_frame (System V ABI for x86-64, 3.7; LSB
// Core, exception frames), .debug_frame (DWARF 5, 6.4) for functions missing there (Go), and the
// code of linkage tables, which neither covers. The file is untrusted, so everything is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "bpf/unwind.h"
#include "core/result.hpp"

namespace lagtrap::binaries {

// A loadable segment with code; maps file offsets to addresses as linked.
struct CodeSegment {
    std::uint64_t file_offset = 0;
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
};

// The number of pages for `count` entries, `per_page` in each.
[[nodiscard]] constexpr std::uint64_t pages_for(std::uint64_t count, std::uint64_t per_page) {
    return (count + per_page - 1) / per_page;
}

inline constexpr std::uint64_t max_unwind_table_bytes = 64ULL << 20;

struct UnwindTable {
    std::vector<CodeSegment> segments;  // by file offset; at least one
    // where bucket 0 starts, as linked; a multiple of LAGTRAP_UNWIND_BUCKET_BYTES
    std::uint64_t base_address = 0;
    std::uint32_t bucket_count = 0;
    std::uint32_t rule_page = 0;  // index of the first page with rules
    std::uint32_t row_page = 0;   // index of the first page with rows
    std::uint32_t page_count = 0;
    // page_count * 512 words, laid out as described in bpf/unwind.h
    std::vector<std::uint64_t> pages;

    std::uint64_t row_count = 0;
    std::uint64_t unsupported_rows = 0;  // rows with rule LAGTRAP_UNWIND_UNSUPPORTED

    [[nodiscard]] std::size_t size_bytes() const {
        return std::size_t{page_count} * LAGTRAP_UNWIND_PAGE_BYTES;
    }
};

// Builds the table of `image`. ErrorKind::NotFound if it has no unwind information; Unsupported if
// it is not x86-64; Invalid if it is unusable (single damaged entries are skipped and become gaps);
// TooLarge if the table would exceed max_unwind_table_bytes.
[[nodiscard]] Result<UnwindTable> make_unwind_table(const ElfImage& image);

// The rule for the code at `address` (as linked), as the BPF program finds it. For tests and
// diagnostics.
[[nodiscard]] lagtrap_unwind_rule find_unwind_rule(const UnwindTable& table, std::uint64_t address);

}  // namespace lagtrap::binaries
