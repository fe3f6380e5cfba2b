// Names that were found after a recording, as ModuleSymbols packets at a trace's end. Used inside analysis/ alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

inline constexpr std::size_t name_length_limit = 16 * 1024;  // a C++ name of a template can be long; more is no name

// "[FILE]" for a place whose function is not known.
[[nodiscard]] std::string module_label(std::string_view path);

// A build id's bytes in hexadecimal; empty where there are more than build ids have.
[[nodiscard]] std::string build_id_text(std::string_view bytes);

// Takes in a ModuleSymbols message; the last that is said of a place counts. protozero::exception where it is damaged.
void add_module_symbols(protozero::data_view message, RawTrace& trace);

// Gives the names to the frames of these places that have no source line yet; a place with several functions becomes
// several frames in every stack. `trace.later_symbols` is empty afterwards.
void apply_module_symbols(RawTrace& trace);

}  // namespace lagtrap::analysis
