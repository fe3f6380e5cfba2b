// Goes through the entries of one unit. Used by the other files of this folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lagtrap::binaries {

enum class Below { Visit, Skip };

// Calls `visit(Dwarf_Die&, depth)` for each entry below `root`, which answers whether to go on into that entry's own
// children; `depth` is 0 for the children of `root`. Each entry is passed once, also where the compiler left out
// DW_AT_sibling (clang): dwarf_siblingof() says where a list of siblings ended, and what follows is the parent's sibling.
// `unit_end`: where the unit's bytes end in memory. Stops after `steps` entries, counting them down; returns false if it
// had to stop, or at damage.
template <typename Visit>
bool walk_entries(Dwarf_Die root, const unsigned char* unit_end, std::uint64_t& steps, Visit&& visit) {
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
        // Each zero ends one list.
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
