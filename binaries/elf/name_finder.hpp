// Finds which of many names a symbol may have, before demangling it. Internal to binaries/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lagtrap::binaries {

// Names as people write them: a symbol, or its demangled name with or without parameters.
class NameFinder {
  public:
    explicit NameFinder(const std::vector<std::string>& names);

    // Ascending indexes of the names that match `symbol`.
    [[nodiscard]] std::vector<std::size_t> names_of(const std::string& symbol) const;

  private:
    const std::vector<std::string>& names_;
    std::unordered_multimap<std::string_view, std::size_t> by_name_;
    // By last identifier, which every mangling scheme spells out. Names for which that is not
    // certain are in uncertain_.
    std::unordered_multimap<std::string_view, std::size_t> by_identifier_;
    std::vector<std::size_t> uncertain_;
};

// All names that match `symbol`: itself, without its version, and demangled.
[[nodiscard]] std::vector<std::string> all_names_of(const std::string& symbol);

}  // namespace lagtrap::binaries
