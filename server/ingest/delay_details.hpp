// Details of a delay that its page shows in addition to the store's columns, as JSON written by the
// parsing process.
#pragma once

#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "server/store/delay_store.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::server {

// Per run.
inline constexpr std::size_t stages_limit = 256;

// Prefix of the notes in a recording's quality about what lagtrapd stopped watching. They may name
// any event of the machine. Details that were stored earlier have the second one.
inline constexpr const char* omitted_note_begin = "omitted: ";
inline constexpr const char* earlier_omitted_note_begin = "shed: ";

struct DelayDetails {
    std::string json;
    std::vector<DelayEdge> edges;
};

// {"trace_begin_ns","on_cpu_ns","runnable_ns","blocked_ns","unknown_ns","blocked":[...],
// "stages":[...],"surroundings":{...},"quality":{...}},
// as described in openapi.yaml. Without a recording the whole delay counts as unknown, and `damage`
// says why.
[[nodiscard]] DelayDetails delay_details(const trace::SystemFile& system,
                                         const analysis::Recording* recording,
                                         const trace::Delay& delay, const std::string& damage);

// Only the quality, for bundles without delays.
[[nodiscard]] std::string quality_json(const trace::SystemFile& system, const std::string& damage);

// `text` as valid UTF-8 of at most `limit_bytes`, which must be at least 3. What is cut ends with
// "…".
[[nodiscard]] std::string shortened(const std::string& text, std::size_t limit_bytes = 1024);

}  // namespace lagtrap::server
