// Gathers the errors of a settings file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "settings/parser.hpp"
#include "settings/place.hpp"

namespace lagtrap::settings {

// Beyond so many errors of one file the rest is only counted.
inline constexpr std::size_t diagnostics_limit = 1000;

class Diagnostics {
  public:
    void add(Place place, std::string found, std::string allowed, std::string hint = {});
    // Whether another error would only be counted; it then is, and nobody needs to find words for it.
    [[nodiscard]] bool counted_alone();
    // Something that could not be checked: the settings pass nonetheless.
    void note(Place place, const std::string& what, const Error& why);
    // The same, in words of its own.
    void note(Place place, std::string text);
    // Something that works, and is not safe or not all that was meant: the settings pass nonetheless. Once for each
    // text.
    void warn(Place place, std::string text);
    [[nodiscard]] bool empty() const { return kept_.empty(); }
    // In order of their places; errors of one place in the order in which they were added.
    [[nodiscard]] std::vector<Diagnostic> take();
    [[nodiscard]] std::vector<Note> take_notes();
    [[nodiscard]] std::vector<Note> take_warnings();

  private:
    std::vector<Diagnostic> kept_;
    std::vector<Note> notes_;
    std::vector<Note> warnings_;
    std::size_t dropped_ = 0;
};

// Whether the error is that this user may not look; root may.
[[nodiscard]] bool root_may_know(const Error& error);

// Text of the file for a message: in double quotes, printable, shortened to about 80 characters.
[[nodiscard]] std::string in_quotes(std::string_view text);
// The same without quotes, for names of elements and attributes.
[[nodiscard]] std::string shortened(std::string_view text);
// "did you mean X?", or nothing where `name` is empty.
[[nodiscard]] std::string did_you_mean(std::string_view name);

}  // namespace lagtrap::settings
