// Names functions from their DWARF entries. Internal to binaries/.
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

// The text of an attribute, cut at 4 KiB; empty if it has none. Points into the file's sections.
[[nodiscard]] std::string_view text_of(Dwarf_Die& entry, unsigned attribute);
[[nodiscard]] std::optional<std::uint64_t> number_of(Dwarf_Die& entry, unsigned attribute);

// Caches a few megabytes of names, because the same few functions are inlined everywhere.
class DwarfNames {
  public:
    // Called before a unit is read. False: do not read it.
    using Touch = std::function<bool(Dwarf_Die&)>;

    // The demangled linkage name, with parameters. Without one (GCC omits it for static functions),
    // the name with its scopes but without parameters. Empty if it has neither.
    [[nodiscard]] std::string name_of(Dwarf_Die entry, const Touch& touch);

  private:
    [[nodiscard]] std::string remembered(const void* place,
                                         const std::function<std::string()>& make);
    [[nodiscard]] const std::vector<Dwarf_Off>& children_of(Dwarf_Die& scope);
    [[nodiscard]] std::string scopes_of(Dwarf_Die& entry, const Touch& touch, int nested);
    [[nodiscard]] std::string name_with_scopes(Dwarf_Die entry, const Touch& touch, int nested);

    // by address of the name or entry in memory
    std::unordered_map<const void*, std::string> names_;
    std::size_t bytes_ = 0;
    // by address of the parent in memory
    std::unordered_map<const void*, std::vector<Dwarf_Off>> children_;
    std::size_t children_bytes_ = 0;
};

}  // namespace lagtrap::binaries
