// Tables by which the kernel side walks stacks of code that keeps no frame pointer (bpf/unwind.h), made from the
// unwind information of one file: .eh_frame (System V ABI for x86-64, 3.7; LSB Core, exception frames), and .debug_frame
// (DWARF 5, 6.4) for functions that the first leaves out (Go), and from the code of linkage tables that neither knows. The
// file is somebody else's: everything read is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "bpf/unwind.h"
#include "core/result.hpp"

namespace lagtrap::binaries {

// A loadable segment with code: how file offsets become addresses as linked.
struct CodeSegment {
    std::uint64_t file_offset = 0;
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
};

// Pages of a table with `per_page` entries each that hold `count` of them.
[[nodiscard]] constexpr std::uint64_t pages_for(std::uint64_t count, std::uint64_t per_page) {
    return (count + per_page - 1) / per_page;
}

inline constexpr std::uint64_t max_unwind_table_bytes = 64ULL << 20;

struct UnwindTable {
    std::vector<CodeSegment> segments;  // by file offset; at least one
    std::uint64_t base_address = 0;     // as linked, a multiple of LAGTRAP_UNWIND_BUCKET_BYTES: where bucket 0 begins
    std::uint32_t bucket_count = 0;
    std::uint32_t rule_page = 0;  // index of the first page with rules
    std::uint32_t row_page = 0;   // index of the first page with rows
    std::uint32_t page_count = 0;
    std::vector<std::uint64_t> pages;  // page_count * 512 words, laid out as bpf/unwind.h says

    std::uint64_t row_count = 0;
    std::uint64_t unsupported_rows = 0;  // rows whose rule is LAGTRAP_UNWIND_UNSUPPORTED

    [[nodiscard]] std::size_t size_bytes() const { return std::size_t{page_count} * LAGTRAP_UNWIND_PAGE_BYTES; }
};

// The table of `image`. ErrorKind::NotFound: the file has no unwind information; Unsupported: not x86-64; Invalid:
// damaged beyond use (entries that are damaged one by one are left out and become gaps); TooLarge: the table
// would have more than max_unwind_table_bytes.
[[nodiscard]] Result<UnwindTable> make_unwind_table(const ElfImage& image);

// The rule for the code at `address` (as linked), as the kernel side finds it: for tests and for explaining.
[[nodiscard]] lagtrap_unwind_rule find_unwind_rule(const UnwindTable& table, std::uint64_t address);

}  // namespace lagtrap::binaries
