#include "cli/add/event_names.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

namespace lagtrap::cli {
namespace {

// "buy" for "app::Shop::buy(int)".
std::string last_part(std::string function) {
    function = without_parameters(function);
    if (const auto template_part = function.find('<'); template_part != std::string::npos)
        function.resize(template_part);
    if (const auto part = function.rfind("::"); part != std::string::npos)
        function.erase(0, part + 2);
    return function;
}

// `first` precedes what no name begins with.
std::string allowed_name(std::string name, const char* first) {
    for (char& c : name)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            c = '-';
    if (name.empty() || name[0] == '-' || (name[0] >= '0' && name[0] <= '9')) name.insert(0, first);
    return name;
}

}  // namespace

std::string without_parameters(const std::string& function) {
    constexpr std::string_view nameless = "(anonymous namespace)";
    for (std::size_t at = function.find('('); at != std::string::npos;
         at = function.find('(', at + 1))
        if (at > 0 && function.compare(at, nameless.size(), nameless) != 0)
            return function.substr(0, at);
    return function;
}

std::string setting_name(std::string function) {
    return allowed_name(last_part(std::move(function)), "f").substr(0, event_name_bytes - 4);
}

std::string event_name(const std::string& program, std::string function) {
    return allowed_name(std::filesystem::path(program).filename().string() + "-" +
                            last_part(std::move(function)),
                        "e")
        .substr(0, event_name_bytes);
}

}  // namespace lagtrap::cli
