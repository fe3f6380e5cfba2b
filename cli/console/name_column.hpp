// A column of names in a table of limited width. Different names never look the same.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace lagtrap::cli {

inline constexpr std::size_t usual_name_width = 16;

// Each of `names` in at most `width` characters, cut in the middle. If two different names would then look the same, the
// limit for all of them grows until they differ.
[[nodiscard]] std::vector<std::string> distinct_names(const std::vector<std::string>& names, std::size_t width);

class NameColumn {
  public:
    // As wide as the longest name and a space, but at least `least` and, if the names stay distinct, at most `most`
    // characters. `least` and `most` are at least 1.
    NameColumn(const std::vector<std::string>& names, std::size_t least, std::size_t most);

    [[nodiscard]] std::size_t width() const { return width_; }
    // `name` cut and filled up with spaces to the width.
    [[nodiscard]] std::string cell(const std::string& name) const;

  private:
    std::size_t width_;
    std::map<std::string, std::string> shown_;
};

}  // namespace lagtrap::cli
