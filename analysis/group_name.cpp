#include "analysis/group_name.hpp"

#include <cctype>

namespace lagtrap::analysis {
namespace {

constexpr std::size_t min_identifier_digits = 32, shown_digits = 12;

bool is_digit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string short_group_name(std::string_view name) {
    std::string text;
    for (std::size_t at = 0; at < name.size();) {
        std::size_t end = at;
        while (end < name.size() && is_digit(name[end])) ++end;
        const bool identifier = end - at >= min_identifier_digits;
        text += name.substr(at, identifier ? shown_digits : end - at);
        if (end == at) text += name[end++];
        at = end;
    }
    return text;
}

}  // namespace lagtrap::analysis
