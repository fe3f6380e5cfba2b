#include "cli/console/text_layout.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/duration.hpp"

namespace lagtrap::cli {

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Size in bytes of the first `count` characters.
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
    auto until =
        static_cast<std::size_t>(std::lround(std::clamp(offset + share, 0.0, 1.0) * cells));
    from = std::min(from, width - 1);
    until = std::clamp(until, from + 1, width);
    return std::string(from, ' ') + std::string(until - from, '#') +
           std::string(width - until, ' ');
}

std::string with_commas(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
    return text;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
    return with_commas(number) + " " + std::string(number == 1 ? one : many);
}

std::string join_path(const std::vector<std::string>& parts, std::size_t width) {
    constexpr std::string_view arrow = " > ";
    constexpr std::string_view gap = "... > ";
    if (parts.empty()) return "";
    std::size_t whole = 0;
    for (const std::string& part : parts) whole += width_of(part) + arrow.size();
    std::string text = parts.back();
    if (whole - arrow.size() <= width) {
        for (std::size_t i = parts.size() - 1; i-- > 0;)
            text.insert(0, parts[i] + std::string(arrow));
        return text;
    }
    if (parts.size() == 1 || width_of(text) + gap.size() > width) return cut_middle(text, width);
    const std::string first = parts.front() + std::string(arrow) + std::string(gap);
    // The last function's caller is more informative than the outermost one.
    const std::size_t last_two = width_of(parts[parts.size() - 2]) + arrow.size() + width_of(text);
    const bool two_or_first = width_of(first) + last_two <= width || gap.size() + last_two > width;
    const bool with_first =
        parts.size() > 2 && width_of(first) + width_of(text) <= width && two_or_first;
    const std::string head = with_first ? first : std::string(gap);
    for (std::size_t i = parts.size() - 1; i-- > 1;) {
        if (width_of(head) + width_of(parts[i]) + arrow.size() + width_of(text) > width) break;
        text.insert(0, parts[i] + std::string(arrow));
    }
    return head + text;
}

std::string wrap_words(std::string_view text, std::size_t width, std::size_t indent) {
    std::string wrapped;
    std::string line;
    const auto end_line = [&] {
        if (!line.empty()) wrapped += std::string(indent, ' ') + line + "\n";
        line.clear();
    };
    const std::size_t room = width > indent ? width - indent : 1;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        std::string_view word = text.substr(0, end);
        while (width_of(word) > room) {
            end_line();
            line = word.substr(0, bytes_of(word, room));
            word.remove_prefix(line.size());
            end_line();
        }
        if (indent + width_of(line) + width_of(word) + 1 > width) end_line();
        line += (line.empty() ? "" : " ") + std::string(word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    end_line();
    return wrapped;
}

std::string wrap_list(const std::vector<std::string>& parts, std::size_t width,
                      std::size_t indent) {
    const std::size_t room = width > indent ? width - indent : 1;
    std::string wrapped;
    std::string line;
    for (const std::string& part : parts) {
        const bool last = &part == &parts.back();
        const std::string next = cut_end(part, room - 1) + (last ? "" : ",");
        if (!line.empty() && width_of(line) + 1 + width_of(next) > room)
            wrapped += std::string(indent, ' ') + std::exchange(line, "") + "\n";
        line += (line.empty() ? "" : " ") + next;
    }
    return line.empty() ? wrapped : wrapped + std::string(indent, ' ') + line + "\n";
}

}  // namespace lagtrap::cli
