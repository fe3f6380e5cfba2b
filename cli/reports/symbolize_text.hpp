// What `lagtrap symbolize` found, and its output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "analysis/trace_places.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::cli {

// The result for one module.
struct SymbolizedModule {
    std::string path;
    std::string build_id;
    std::size_t places = 0;  // without a name or line
    std::size_t found = 0;
    std::string found_in;
    std::string problem;
};

struct SymbolizeSummary {
    analysis::FrameCounts before;
    analysis::FrameCounts after;
    std::vector<SymbolizedModule> modules;
    std::uint64_t places_without_build_id = 0;
    std::vector<std::string> server_problems;
    trace::BundleInfo bundle;
};

// Notes in a recording what is named now.
void update_quality(const SymbolizeSummary& summary, trace::StackQuality& quality);
[[nodiscard]] std::string symbolize_text(const SymbolizeSummary& summary);
[[nodiscard]] boost::json::object symbolize_json(const SymbolizeSummary& summary);

}  // namespace lagtrap::cli
