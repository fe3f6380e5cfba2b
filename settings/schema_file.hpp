// The vocabulary as an XML schema, for editors and xmllint.
#pragma once

#include <string>

namespace lagtrap::settings {

// An XML Schema 1.0 (https://www.w3.org/TR/xmlschema-1/) for <lagtrap> and <preset>: elements,
// attributes, formats, defaults and meanings. It cannot express some rules; only the parser checks
// those: ranges of durations and sizes, one form of markers per event, keys on all markers or none,
// what the machine has.
[[nodiscard]] std::string settings_schema_file();

}  // namespace lagtrap::settings
