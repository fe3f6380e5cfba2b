// `lagtrap report --html`: one page to hand over, without scripts and without anything to load.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "cli/reports/delay_list.hpp"

namespace lagtrap::cli {

// Printable text with & < > " and ' as HTML writes them, for content and for quoted attributes.
[[nodiscard]] std::string escape_html(std::string_view text);

// `report` is report_json() with one delay, or none; `whole_text` is its report_text(). Neither is
// trusted: a recording's names may contain anything. `list` is shown first if it has more than one
// recording.
[[nodiscard]] std::string report_html(const boost::json::object& report,
                                      const std::string& whole_text, const DelayList& list);

}  // namespace lagtrap::cli
