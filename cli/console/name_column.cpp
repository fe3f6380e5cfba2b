#include "cli/console/name_column.hpp"

#include <algorithm>

#include "cli/console/text_layout.hpp"

namespace lagtrap::cli {

std::vector<std::string> distinct_names(const std::vector<std::string>& names, std::size_t width) {
    for (;; ++width) {
        std::vector<std::string> shown;
        std::map<std::string, std::string> whole;
        bool distinct = true;
        for (const std::string& name : names) {
            shown.push_back(cut_middle(name, width));
            distinct = whole.emplace(shown.back(), name).first->second == name && distinct;
        }
        if (distinct) return shown;
    }
}

NameColumn::NameColumn(const std::vector<std::string>& names, std::size_t least, std::size_t most)
    : width_(least) {
    std::size_t longest = 0;
    for (const std::string& name : names) longest = std::max(longest, width_of(name));
    const std::vector<std::string> shown =
        distinct_names(names, std::clamp(longest + 1, least, std::max(least, most)) - 1);
    for (std::size_t i = 0; i < names.size(); ++i) {
        width_ = std::max(width_, width_of(shown[i]) + 1);
        shown_.emplace(names[i], shown[i]);
    }
}

std::string NameColumn::cell(const std::string& name) const {
    const auto found = shown_.find(name);
    return pad_right(found == shown_.end() ? name : found->second, width_);
}

}  // namespace lagtrap::cli
