// A column of names in a table of limited width. Different names always look different.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace lagtrap::cli {

inline constexpr std::size_t usual_name_width = 16;

// Cuts each of `names` in the middle to at most `width` characters. If two different names would
// then look the same, raises the limit for all of them until they differ.
[[nodiscard]] std::vector<std::string> distinct_names(const std::vector<std::string>& names,
                                                      std::size_t width);

class NameColumn {
  public:
    // As wide as the longest name and a space, but at least `least` and, if the names stay
    // distinct, at most `most` characters. Both must be at least 1.
    NameColumn(const std::vector<std::string>& names, std::size_t least, std::size_t most);

    [[nodiscard]] std::size_t width() const { return width_; }
    // `name`, cut or padded to the width.
    [[nodiscard]] std::string cell(const std::string& name) const;

  private:
    std::size_t width_;
    std::map<std::string, std::string> shown_;
};

}  // namespace lagtrap::cli
