// Collects the errors, notes and warnings of a settings file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "settings/parser.hpp"
#include "settings/place.hpp"

namespace lagtrap::settings {

// Further errors of a file are only counted.
inline constexpr std::size_t diagnostics_limit = 1000;

class Diagnostics {
  public:
    void add(Place place, std::string found, std::string allowed, std::string hint = {});
    // True if the limit is reached. Then it also counts the error, and the caller need not describe
    // it.
    [[nodiscard]] bool counted_alone();
    // For something that could not be checked. The settings still pass.
    void note(Place place, const std::string& what, const Error& why);
    // The same, with the whole text given.
    void note(Place place, std::string text);
    // For something that works but is unsafe or only partly effective. The settings still pass.
    // Repeated texts are dropped.
    void warn(Place place, std::string text);
    [[nodiscard]] bool empty() const { return kept_.empty(); }
    // Sorted by place; errors at the same place keep their order.
    [[nodiscard]] std::vector<Diagnostic> take();
    [[nodiscard]] std::vector<Note> take_notes();
    [[nodiscard]] std::vector<Note> take_warnings();

  private:
    std::vector<Diagnostic> kept_;
    std::vector<Note> notes_;
    std::vector<Note> warnings_;
    std::size_t dropped_ = 0;
};

// Whether the error means that only root may access it.
[[nodiscard]] bool root_may_know(const Error& error);

// Quotes text of the file for a message: printable, in double quotes, shortened to about 80
// characters.
[[nodiscard]] std::string in_quotes(std::string_view text);
// The same without quotes, for names of elements and attributes.
[[nodiscard]] std::string shortened(std::string_view text);
// "did you mean X?", or empty if `name` is empty.
[[nodiscard]] std::string did_you_mean(std::string_view name);

}  // namespace lagtrap::settings
