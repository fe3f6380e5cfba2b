// Walks the entries of one unit. Internal to binaries/.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lagtrap::binaries {

enum class Below { Visit, Skip };

// Calls `visit(Dwarf_Die&, depth)` for each entry below `root`; `depth` is 0 for the children of
// `root`. The result of `visit` decides whether to descend into the entry's children. Visits each
// entry once, even without DW_AT_sibling (clang): dwarf_siblingof() tells where a list of siblings
// ends, and the parent's sibling follows. `unit_end` is the end of the unit's bytes in memory.
// Counts `steps` down and stops at 0. Returns false if it stopped early or found damage.
template <typename Visit>
bool walk_entries(Dwarf_Die root, const unsigned char* unit_end, std::uint64_t& steps,
                  Visit&& visit) {
    Dwarf_Die entry{};
    const int has_child = ::dwarf_child(&root, &entry);
    if (has_child != 0) return has_child > 0;
    for (std::size_t depth = 0;;) {
        if (steps == 0) return false;
        --steps;
        Dwarf_Die next{};
        if (visit(entry, depth) == Below::Visit && ::dwarf_child(&entry, &next) == 0) {
            entry = next;
            ++depth;
            continue;
        }
        const int answer = ::dwarf_siblingof(&entry, &next);
        if (answer < 0) return false;
        if (answer == 0) {
            entry = next;
            continue;
        }
        const auto* position = static_cast<const unsigned char*>(next.addr);
        if (position == nullptr) return true;
        // Each zero byte ends a list of siblings.
        do {
            ++position;
            if (depth == 0 || position >= unit_end) return true;
            --depth;
        } while (*position == 0);
        Dwarf_CU* const unit = entry.cu;
        entry = Dwarf_Die{};
        entry.addr = const_cast<unsigned char*>(position);
        entry.cu = unit;
    }
}

}  // namespace lagtrap::binaries
