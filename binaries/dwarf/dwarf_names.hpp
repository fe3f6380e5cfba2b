// Names of functions by their DWARF entries. Used by the other files of this folder.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lagtrap::binaries {

// The text of an attribute, cut at 4 KiB; empty where it has none. It lies in the file's sections.
[[nodiscard]] std::string_view text_of(Dwarf_Die& entry, unsigned attribute);
[[nodiscard]] std::optional<std::uint64_t> number_of(Dwarf_Die& entry, unsigned attribute);

// Remembers some megabytes of what it found: the same few functions are inlined everywhere.
class DwarfNames {
  public:
    // Asked before a unit is looked into; false: it must not be.
    using Touch = std::function<bool(Dwarf_Die&)>;

    // By linkage name, demangled, which has the parameters; else by name with the scopes around it, without parameters
    // (GCC leaves the linkage names of static functions out). Empty: it has neither.
    [[nodiscard]] std::string name_of(Dwarf_Die entry, const Touch& touch);

  private:
    [[nodiscard]] std::string remembered(const void* place, const std::function<std::string()>& make);
    [[nodiscard]] const std::vector<Dwarf_Off>& children_of(Dwarf_Die& scope);
    [[nodiscard]] std::string scopes_of(Dwarf_Die& entry, const Touch& touch, int nested);
    [[nodiscard]] std::string name_with_scopes(Dwarf_Die entry, const Touch& touch, int nested);

    std::unordered_map<const void*, std::string> names_;  // by where the name, or the entry, lies in memory
    std::size_t bytes_ = 0;
    std::unordered_map<const void*, std::vector<Dwarf_Off>> children_;  // by where their parent lies in memory
    std::size_t children_bytes_ = 0;
};

}  // namespace lagtrap::binaries
