#include "settings/place.hpp"

#include <algorithm>
#include <iterator>

namespace lagtrap::settings {
namespace {

constexpr std::size_t checkpoint_bytes = 256;

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

}  // namespace

LineIndex::LineIndex(std::string_view text) : text_(text), line_starts_{0} {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i % checkpoint_bytes == 0) characters_.push_back(characters);
        if (begins_character(text[i])) ++characters;
        if (text[i] == '\n') line_starts_.push_back(i + 1);
    }
    if (text.size() % checkpoint_bytes == 0) characters_.push_back(characters);
}

std::size_t LineIndex::characters_before(std::size_t offset) const {
    const std::size_t checkpoint = offset / checkpoint_bytes;
    const std::string_view rest =
        text_.substr(checkpoint * checkpoint_bytes, offset % checkpoint_bytes);
    return characters_[checkpoint] +
           static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), begins_character));
}

Place LineIndex::place_of(std::size_t offset) const {
    offset = std::min(offset, text_.size());
    const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    const std::size_t start = *std::prev(after);
    return Place{
        static_cast<std::uint32_t>(after - line_starts_.begin()),
        static_cast<std::uint32_t>(characters_before(offset) - characters_before(start) + 1)};
}

std::size_t LineIndex::offset_of(Place place) const {
    if (place.line == 0 || place.line > line_starts_.size()) return text_.size();
    const std::size_t start = line_starts_[place.line - 1];
    const std::size_t end = start + line(place.line).size();
    const std::size_t wanted = characters_before(start) + std::max(place.column, 1U) - 1;
    const auto after = std::upper_bound(characters_.begin(), characters_.end(), wanted);
    std::size_t offset =
        static_cast<std::size_t>(std::prev(after) - characters_.begin()) * checkpoint_bytes;
    for (std::size_t seen = *std::prev(after); offset < end; ++offset)
        if (begins_character(text_[offset]) && seen++ == wanted) break;
    return std::min(offset, end);
}

std::string_view LineIndex::line(std::uint32_t number) const {
    if (number == 0 || number > line_starts_.size()) return {};
    const std::size_t start = line_starts_[number - 1];
    const std::size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
    std::string_view line = text_.substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

}  // namespace lagtrap::settings
