#include "binaries/dwarf/dwarf_scopes.hpp"

#include <dwarf.h>

#include <algorithm>

namespace lagtrap::binaries {

void RangeTable::add(Dwarf_Die& entry, std::uint64_t number, const CodeBounds& code,
                     std::uint64_t& steps) {
    Dwarf_Addr base = 0;
    Dwarf_Addr low = 0;
    Dwarf_Addr high = 0;
    for (std::ptrdiff_t next = 0; (next = ::dwarf_ranges(&entry, next, &base, &low, &high)) > 0;) {
        if (steps == 0) return;
        --steps;
        if (low >= high || low < code.low || high > code.high) continue;
        ranges_.push_back(Range{low, high, 0, number});
    }
}

void RangeTable::sort() {
    // If ranges start at the same address, the outer one comes first.
    std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
        return a.low != b.low ? a.low < b.low : a.high > b.high;
    });
    std::uint64_t reach = 0;
    for (Range& range : ranges_) range.reach = reach = std::max(reach, range.high);
    ranges_.shrink_to_fit();
}

void UnitFunctions::scan(Dwarf_Die unit, const unsigned char* unit_end, Below within,
                         const CodeBounds& code, std::uint64_t& steps) {
    ranges_ = RangeTable{};
    walk_entries(unit, unit_end, steps, [&](Dwarf_Die& entry, std::size_t) {
        switch (::dwarf_tag(&entry)) {
            case DW_TAG_subprogram:
                ranges_.add(entry, ::dwarf_dieoffset(&entry), code, steps);
                return within;
            case DW_TAG_namespace:
            case DW_TAG_module: return Below::Visit;
            default: return within;
        }
    });
    ranges_.sort();
}

std::optional<std::uint64_t> UnitFunctions::find(std::uint64_t address) const {
    std::optional<std::uint64_t> found;
    std::uint64_t smallest = ~std::uint64_t{0};
    ranges_.visit_at(address, [&](std::uint64_t low, std::uint64_t high, std::uint64_t entry) {
        if (high - low >= smallest) return;
        smallest = high - low;
        found = entry;
    });
    return found;
}

void InlinedCalls::scan(Dwarf_Die function, const unsigned char* unit_end, const CodeBounds& code,
                        std::uint64_t& steps) {
    calls_.assign(1, Call{});
    ranges_ = RangeTable{};
    // The entries that enclose the current one.
    std::vector<std::size_t> around{0};
    walk_entries(function, unit_end, steps, [&](Dwarf_Die& entry, std::size_t depth) {
        while (around.size() > 1 && calls_[around.back()].depth >= depth) around.pop_back();
        switch (::dwarf_tag(&entry)) {
            case DW_TAG_inlined_subroutine:
                calls_.push_back(Call{::dwarf_dieoffset(&entry), around.back(), depth});
                ranges_.add(entry, calls_.size() - 1, code, steps);
                around.push_back(calls_.size() - 1);
                return Below::Visit;
            case DW_TAG_lexical_block:
            case DW_TAG_try_block:
            case DW_TAG_catch_block:
            case DW_TAG_with_stmt: return Below::Visit;
            default: return Below::Skip;
        }
    });
    calls_.shrink_to_fit();
    ranges_.sort();
}

std::vector<std::uint64_t> InlinedCalls::find(std::uint64_t address) const {
    constexpr std::size_t max_frames = 256;
    std::size_t innermost = 0;
    ranges_.visit_at(address, [&](std::uint64_t, std::uint64_t, std::uint64_t call) {
        if (innermost == 0 || calls_[call].depth > calls_[innermost].depth) innermost = call;
    });
    std::vector<std::uint64_t> found;
    for (std::size_t call = innermost; call != 0 && found.size() < max_frames;
         call = calls_[call].parent)
        found.push_back(calls_[call].entry);
    return found;
}

}  // namespace lagtrap::binaries
