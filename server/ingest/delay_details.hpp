// What a page shows of a delay beside the store's own columns, as JSON that the parsing process writes.
#pragma once

#include <string>

#include "analysis/recording.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::server {

// Of one run.
inline constexpr std::size_t stages_limit = 256;

// How notes of a recording's quality begin that say what lagtrapd stopped watching; they may name any event of the machine.
inline constexpr const char* shed_note_begin = "shed: ";

// {"trace_begin_ns","on_cpu_ns","runnable_ns","blocked_ns","unknown_ns","blocked":[...],"stages":[...],"surroundings":{...},"quality":{...}},
// as openapi.yaml has them. Without a recording all of the delay is unknown, and `damage` says why.
[[nodiscard]] std::string delay_details(const trace::SystemFile& system, const analysis::Recording* recording,
                                        const trace::Delay& delay, const std::string& damage);

// The quality alone, for bundles without delays.
[[nodiscard]] std::string quality_json(const trace::SystemFile& system, const std::string& damage);

// What of `text` a JSON string may hold of a name, at most `limit_bytes` long and valid UTF-8.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t limit_bytes = 1024);

}  // namespace lagtrap::server
