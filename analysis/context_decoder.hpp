// Decodes what threads worked for, as their programs published it. For analysis/ only.
#pragma once

#include <cstdint>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

// Adds a LagtrapContext message from a packet with the time stamp `at_ns`. Throws
// protozero::exception if it is damaged.
void take_context(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace);

}  // namespace lagtrap::analysis
