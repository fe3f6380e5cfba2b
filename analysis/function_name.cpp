#include "analysis/function_name.hpp"

#include "core/function_name.hpp"

namespace lagtrap::analysis {

std::string short_function_name(std::string_view name) {
    constexpr std::string_view anonymous = "(anonymous namespace)::";
    std::string text = without_parameters(name);
    for (std::size_t at = text.find(anonymous); at != std::string::npos; at = text.find(anonymous, at))
        text.erase(at, anonymous.size());
    return text;
}

}  // namespace lagtrap::analysis
