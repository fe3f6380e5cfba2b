// Short forms of an event's markers, and the long ones that they stand for.
#pragma once

#include "settings/diagnostics.hpp"
#include "settings/document.hpp"

namespace lagtrap::settings {

// The <event> with <usdt> replaced by its <begin> and <end>, and <header> by <library>. Reports
// forms that exclude each other.
[[nodiscard]] Element with_long_forms(const Element& event, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
