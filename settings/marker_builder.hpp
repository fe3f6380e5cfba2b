// Builds the markers of one event of the settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "settings/build.hpp"

namespace lagtrap::settings {

class MarkerBuilder {
  public:
    // `event` is the <event>. The references must outlive it.
    MarkerBuilder(const Element& event, MachineSources& sources, Diagnostics& diagnostics)
        : event_(event), sources_(sources), diagnostics_(diagnostics) {}

    // All of the following add the marker to the sources, unless it is invalid; then there is a
    // diagnostic.

    // From <begin>, <stage> or <end>.
    [[nodiscard]] MarkerSource marker(const Element& element);
    // From <function>: where it begins.
    [[nodiscard]] Marker function(const Element& function);
    // From <library>. `place` is the element that the marker is for; `point` what it is called in
    // the library.
    [[nodiscard]] Marker library(const Element& library, const Element& place,
                                 const std::string& point);

  private:
    [[nodiscard]] const Attribute* find_name(const Element& element);
    bool inherit_binary(const Element& element, MarkerSource& source);
    bool find_binary(const Element& element, MarkerSource& source);
    [[nodiscard]] std::optional<ArgumentRef> argument(const Element& element, std::string_view name,
                                                      const Marker& marker, Place& place);

    const Element& event_;
    MachineSources& sources_;
    Diagnostics& diagnostics_;
};

// Where the attribute is, or else its element.
[[nodiscard]] Place place_of(const Element& element, std::string_view name);

void set_place(Marker& marker, Place place);

}  // namespace lagtrap::settings
