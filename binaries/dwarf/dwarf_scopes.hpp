// Finds the function and inlined functions at an address. Internal to binaries/.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "binaries/dwarf/dwarf_walk.hpp"

namespace lagtrap::binaries {

// The program's code addresses. Ranges outside are of functions that the linker dropped.
struct CodeBounds {
    std::uint64_t low = 0;
    std::uint64_t high = 0;  // exclusive
};

// Address ranges, each with a number; they may overlap.
class RangeTable {
  public:
    // Adds the entry's ranges that lie in the code. Each takes one of `steps`.
    void add(Dwarf_Die& entry, std::uint64_t number, const CodeBounds& code, std::uint64_t& steps);
    // Call once, after the last add().
    void sort();
    // Calls `visit(low, high, number)` for the ranges that contain the address, by descending
    // start; at most 64.
    template <typename Visit>
    void visit_at(std::uint64_t address, Visit&& visit) const;
    [[nodiscard]] std::uint64_t memory_bytes() const { return ranges_.capacity() * sizeof(Range); }
    [[nodiscard]] std::size_t size() const { return ranges_.size(); }

  private:
    struct Range {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        std::uint64_t reach = 0;  // the highest end of all ranges up to this one
        std::uint64_t number = 0;
    };
    std::vector<Range> ranges_;
};

// The functions of a unit that have code, without those inlined.
class UnitFunctions {
  public:
    // With Skip, searches only where compilers usually put functions: in the unit and its
    // namespaces. With Visit, searches everything (functions within functions, as in GNU C, D and
    // Ada, or within types, as in Rust).
    void scan(Dwarf_Die unit, const unsigned char* unit_end, Below within, const CodeBounds& code,
              std::uint64_t& steps);
    // The offset in .debug_info of the innermost function's entry.
    [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t address) const;
    [[nodiscard]] std::uint64_t memory_bytes() const { return ranges_.memory_bytes(); }

  private:
    RangeTable ranges_;
};

// The calls inlined in one function.
class InlinedCalls {
  public:
    void scan(Dwarf_Die function, const unsigned char* unit_end, const CodeBounds& code,
              std::uint64_t& steps);
    // The offsets in .debug_info of the entries (DW_TAG_inlined_subroutine) that contain an
    // address, innermost first.
    [[nodiscard]] std::vector<std::uint64_t> find(std::uint64_t address) const;
    [[nodiscard]] std::uint64_t memory_bytes() const {
        return ranges_.memory_bytes() + calls_.capacity() * sizeof(Call);
    }

  private:
    struct Call {
        std::uint64_t entry = 0;
        std::size_t parent = 0;  // index into calls_; 0 is the function itself
        std::size_t depth = 0;   // nesting of the entry in the function
    };
    std::vector<Call> calls_;
    RangeTable ranges_;
};

template <typename Visit>
void RangeTable::visit_at(std::uint64_t address, Visit&& visit) const {
    constexpr int max_allowed = 64;
    std::size_t index = 0;
    for (std::size_t end = ranges_.size(); index < end;) {
        const std::size_t middle = index + (end - index) / 2;
        if (ranges_[middle].low <= address) {
            index = middle + 1;
        } else {
            end = middle;
        }
    }
    for (int visited = 0; index > 0 && visited < max_allowed;) {
        const Range& range = ranges_[--index];
        if (range.reach <= address) return;
        if (address >= range.high) continue;
        visit(range.low, range.high, range.number);
        ++visited;
    }
}

}  // namespace lagtrap::binaries
