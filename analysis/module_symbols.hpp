// Applies names found after a recording, which are ModuleSymbols packets at the end of a trace. For
// analysis/ only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

// C++ template names can be long; anything longer is not a name.
inline constexpr std::size_t name_length_limit = 16 * 1024;

// "[FILE]", for a place whose function is unknown.
[[nodiscard]] std::string module_label(std::string_view path);

// A build id as hexadecimal text; empty if it is too long for a build id.
[[nodiscard]] std::string build_id_text(std::string_view bytes);

// Adds a ModuleSymbols message; for a place given twice, the last one counts. Throws
// protozero::exception if it is damaged.
void add_module_symbols(protozero::data_view message, RawTrace& trace);

// Applies the names to the frames of these places that lack a source line. A place with several
// functions becomes several frames in every stack. Clears `trace.later_symbols`.
void apply_module_symbols(RawTrace& trace);

}  // namespace lagtrap::analysis
