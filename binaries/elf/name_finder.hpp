// Which of many names a symbol may have: asked before it is demangled. Used by the other files of this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lagtrap::binaries {

// Names as people write them: a symbol's own, or the demangled one, with or without its parameters.
class NameFinder {
  public:
    explicit NameFinder(const std::vector<std::string>& names);

    // The numbers of the names that `symbol` has, ascending.
    [[nodiscard]] std::vector<std::size_t> names_of(const std::string& symbol) const;

  private:
    const std::vector<std::string>& names_;
    std::unordered_multimap<std::string_view, std::size_t> by_name_;
    // By their last identifier, which every mangling scheme spells out; those of which that is not certain apart.
    std::unordered_multimap<std::string_view, std::size_t> by_identifier_;
    std::vector<std::size_t> uncertain_;
};

// Every name that finds `symbol`: its own, that without a version, and the demangled ones.
[[nodiscard]] std::vector<std::string> all_names_of(const std::string& symbol);

}  // namespace lagtrap::binaries
