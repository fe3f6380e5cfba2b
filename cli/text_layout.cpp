#include "cli/text_layout.hpp"

#include <algorithm>
#include <cmath>

namespace lagtrap::cli {

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
    std::size_t place = 0;
    for (; place < text.size(); ++place) {
        if (starts_character(text[place]) && count-- == 0) break;
    }
    return place;
}

}  // namespace

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string cut_end(std::string_view text, std::size_t width) {
    if (width_of(text) <= width) return std::string(text);
    if (width <= 3) return std::string(text.substr(0, bytes_of(text, width)));
    return std::string(text.substr(0, bytes_of(text, width - 3))) + "...";
}

std::string cut_middle(std::string_view text, std::size_t width) {
    const std::size_t length = width_of(text);
    if (length <= width || width <= 5) return cut_end(text, width);
    const std::size_t head = (width - 3) / 3;
    const std::size_t tail = width - 3 - head;
    return std::string(text.substr(0, bytes_of(text, head))) + "..." +
           std::string(text.substr(bytes_of(text, length - tail)));
}

std::string pad_left(std::string_view text, std::size_t width) {
    const std::string shown = cut_end(text, width);
    return std::string(width - width_of(shown), ' ') + shown;
}

std::string pad_right(std::string_view text, std::size_t width) {
    const std::string shown = cut_end(text, width);
    return shown + std::string(width - width_of(shown), ' ');
}

std::string percent(double share) {
    if (share > 0 && share < 0.01) return "<1 %";
    return std::to_string(std::lround(share * 100)) + " %";
}

std::string bar(double share, std::size_t width) {
    if (share <= 0) return "";
    const auto length = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
    return std::string(std::clamp<std::size_t>(length, 1, width), '#');
}

std::string stretch(double offset, double share, std::size_t width) {
    const auto cells = static_cast<double>(width);
    auto from = static_cast<std::size_t>(std::lround(std::clamp(offset, 0.0, 1.0) * cells));
    auto until = static_cast<std::size_t>(std::lround(std::clamp(offset + share, 0.0, 1.0) * cells));
    from = std::min(from, width - 1);
    until = std::clamp(until, from + 1, width);
    return std::string(from, ' ') + std::string(until - from, '#') + std::string(width - until, ' ');
}

std::string with_commas(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
    return text;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
    return with_commas(number) + " " + std::string(number == 1 ? one : many);
}

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

std::vector<std::string> wrap_path(const std::vector<std::string>& parts, std::size_t width, std::size_t lines) {
    // Lines are filled from the innermost part backwards, so that what gets left out is the outermost.
    const std::size_t room = width - 6;  // for "... > " before and " >" behind
    std::vector<std::string> wrapped{""};
    for (std::size_t i = parts.size(); i-- > 0;) {
        const std::string part = cut_middle(parts[i], room);
        std::string& line = wrapped.back();
        if (line.empty()) {
            line = part;
        } else if (width_of(line) + width_of(part) + 3 <= room) {
            line.insert(0, part + " > ");
        } else if (wrapped.size() == lines) {
            line.insert(0, "... > ");
            break;
        } else {
            wrapped.push_back(part + " >");
        }
    }
    std::reverse(wrapped.begin(), wrapped.end());
    return wrapped;
}

}  // namespace lagtrap::cli
