// Which function, and which functions inlined there, an address belongs to. Used by the other files of this folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "binaries/dwarf/dwarf_walk.hpp"

namespace lagtrap::binaries {

// Addresses where the program has code. Ranges outside are of functions that the linker left out.
struct CodeBounds {
    std::uint64_t low = 0;
    std::uint64_t high = 0;  // exclusive
};

// Ranges of addresses, each with a number; they may overlap.
class RangeTable {
  public:
    // Adds the ranges of an entry, as far as they are in the code. Each costs a step.
    void add(Dwarf_Die& entry, std::uint64_t number, const CodeBounds& code, std::uint64_t& steps);
    // To be called once after all add().
    void sort();
    // Calls `visit(low, high, number)` for the ranges with the address, those that begin last first; no more than 64.
    template <typename Visit>
    void visit_at(std::uint64_t address, Visit&& visit) const;
    [[nodiscard]] std::uint64_t memory_bytes() const { return ranges_.capacity() * sizeof(Range); }
    [[nodiscard]] std::size_t size() const { return ranges_.size(); }

  private:
    struct Range {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        std::uint64_t reach = 0;  // the highest end up to here
        std::uint64_t number = 0;
    };
    std::vector<Range> ranges_;
};

// The functions of a unit that have code, without what is inlined in them.
class UnitFunctions {
  public:
    // `within`: Skip looks for functions where compilers put them, in the unit and in namespaces; Visit looks into
    // everything (functions inside functions, as GNU C, D and Ada have them; inside types, as Rust may).
    void scan(Dwarf_Die unit, const unsigned char* unit_end, Below within, const CodeBounds& code,
              std::uint64_t& steps);
    // Offset in .debug_info of the innermost function's entry.
    [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t address) const;
    [[nodiscard]] std::uint64_t memory_bytes() const { return ranges_.memory_bytes(); }

  private:
    RangeTable ranges_;
};

// What is inlined in one function.
class InlinedCalls {
  public:
    void scan(Dwarf_Die function, const unsigned char* unit_end, const CodeBounds& code, std::uint64_t& steps);
    // Offsets in .debug_info of the entries (DW_TAG_inlined_subroutine) around an address, innermost first.
    [[nodiscard]] std::vector<std::uint64_t> find(std::uint64_t address) const;
    [[nodiscard]] std::uint64_t memory_bytes() const {
        return ranges_.memory_bytes() + calls_.capacity() * sizeof(Call);
    }

  private:
    struct Call {
        std::uint64_t entry = 0;
        std::size_t parent = 0;  // in calls_; number 0 is the function itself
        std::size_t depth = 0;   // of the entry, in the function
    };
    std::vector<Call> calls_;
    RangeTable ranges_;
};

template <typename Visit>
void RangeTable::visit_at(std::uint64_t address, Visit&& visit) const {
    constexpr int most_allowed = 64;
    std::size_t index = 0;
    for (std::size_t end = ranges_.size(); index < end;) {
        const std::size_t middle = index + (end - index) / 2;
        if (ranges_[middle].low <= address) {
            index = middle + 1;
        } else {
            end = middle;
        }
    }
    for (int visited = 0; index > 0 && visited < most_allowed;) {
        const Range& range = ranges_[--index];
        if (range.reach <= address) return;
        if (address >= range.high) continue;
        visit(range.low, range.high, range.number);
        ++visited;
    }
}

}  // namespace lagtrap::binaries
