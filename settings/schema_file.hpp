// The vocabulary as an XML schema, for editors and for xmllint.
#pragma once

#include <string>

namespace lagtrap::settings {

// A schema of version 1.0 (https://www.w3.org/TR/xmlschema-1/) with the elements <lagtrap> and <preset>: elements, attributes, forms
// of values, defaults, and what each means. Rules that it cannot say (ranges of durations and sizes, one form of markers in an event,
// keys on all markers or none, what the machine has) are the parser's alone.
[[nodiscard]] std::string settings_schema_file();

}  // namespace lagtrap::settings
