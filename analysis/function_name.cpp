#include "analysis/function_name.hpp"

namespace lagtrap::analysis {

std::string short_function_name(std::string_view name) {
    constexpr std::string_view anonymous = "(anonymous namespace)::";
    constexpr std::string_view call_operator = "operator()";
    std::string text(name);
    for (std::size_t at = text.find(anonymous); at != std::string::npos; at = text.find(anonymous, at)) {
        text.erase(at, anonymous.size());
    }
    int depth = 0;  // within template arguments or a lambda's braces
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (depth == 0 && std::string_view(text).substr(at).starts_with("operator")) {
            const bool call = std::string_view(text).substr(at).starts_with(call_operator);
            at = std::min(text.find('(', call ? at + call_operator.size() : at), text.size());
            if (at == text.size()) return text;
        }
        const char c = text[at];
        if (c == '<' || c == '{') ++depth;
        if (c == '>' || c == '}') --depth;
        if (c == '(' && depth == 0 && at > 0) return text.substr(0, at);
    }
    return text;
}

}  // namespace lagtrap::analysis
