#include "binaries/elf/name_finder.hpp"

#include <algorithm>
#include <array>

#include "binaries/code/program_code.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/function_name.hpp"

namespace lagtrap::binaries {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_identifier(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
    });
}

// The last identifier of `name`, which must occur in its mangled form. Empty if that is not certain
// (operators, names that C++ abbreviates).
std::string_view certain_part(const std::string& name) {
    static constexpr std::array<std::string_view, 7> abbreviated_names = {
        "std", "allocator", "basic_string", "string", "istream", "ostream", "iostream"};
    std::string part = without_parameters(name);
    if (const auto colons = part.rfind("::"); colons != std::string::npos)
        part.erase(0, colons + 2);
    if (!is_identifier(part) || part.starts_with("operator")) return {};
    const bool abbreviated = std::find(abbreviated_names.begin(), abbreviated_names.end(), part) !=
                             abbreviated_names.end();
    return abbreviated ? std::string_view{}
                       : std::string_view(name).substr(name.find(part), part.size());
}

bool may_be_mangled(std::string_view symbol) {
    return symbol.starts_with("_Z") || symbol.starts_with("_R") || symbol.starts_with("_D");
}

// False for a part of a function placed elsewhere, which would demangle to the function's name.
bool has_demangled_names(const std::string& symbol) {
    return may_be_mangled(symbol) && owner_of_part(symbol).empty();
}

// Calls `visit` for each possible identifier of `symbol`: a decimal length, then that many
// characters.
template <typename Visit>
void for_each_identifier(std::string_view symbol, Visit&& visit) {
    constexpr std::size_t max_digits = 4;
    for (std::size_t begin = 0; begin < symbol.size(); ++begin) {
        if (!is_digit(symbol[begin])) continue;
        std::size_t length = 0, at = begin;
        for (; at < symbol.size() && is_digit(symbol[at]) && at - begin < max_digits; ++at)
            length = length * 10 + static_cast<std::size_t>(symbol[at] - '0');
        if (at + length > symbol.size()) continue;
        visit(symbol.substr(at, length));
        // Rust inserts an underscore before identifiers that start with one or with a digit.
        if (at + 1 + length <= symbol.size() && symbol[at] == '_')
            visit(symbol.substr(at + 1, length));
    }
}

}  // namespace

NameFinder::NameFinder(const std::vector<std::string>& names) : names_(names) {
    for (std::size_t number = 0; number < names.size(); ++number) {
        by_name_.emplace(names[number], number);
        const std::string_view part = certain_part(names[number]);
        if (part.empty()) {
            uncertain_.push_back(number);
        } else {
            by_identifier_.emplace(part, number);
        }
    }
}

std::vector<std::size_t> NameFinder::names_of(const std::string& symbol) const {
    std::vector<std::size_t> found;
    // In .symtab of a library, the name may include the version: "memcpy@@GLIBC_2.14".
    for (const std::string_view own :
         {std::string_view(symbol), std::string_view(symbol).substr(0, symbol.find('@'))}) {
        const auto [first, last] = by_name_.equal_range(own);
        for (auto at = first; at != last; ++at) found.push_back(at->second);
    }
    if (has_demangled_names(symbol)) {
        std::vector<std::size_t> candidates = uncertain_;
        for_each_identifier(symbol, [&](std::string_view identifier) {
            const auto [first, last] = by_identifier_.equal_range(identifier);
            for (auto at = first; at != last; ++at) candidates.push_back(at->second);
        });
        if (!candidates.empty()) {
            const std::string whole = demangle(symbol), name = demangle_without_parameters(symbol);
            std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(found),
                         [&](std::size_t number) {
                             return names_[number] == name || names_[number] == whole;
                         });
        }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

std::vector<std::string> all_names_of(const std::string& symbol) {
    std::vector<std::string> names{symbol, symbol.substr(0, symbol.find('@'))};
    if (has_demangled_names(symbol)) {
        names.push_back(demangle(symbol));
        names.push_back(demangle_without_parameters(symbol));
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

}  // namespace lagtrap::binaries
