#include "cli/reports/symbolize_text.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

std::string module_row(const SymbolizedModule& module) {
    const std::string share = std::to_string(module.found) + "/" + std::to_string(module.places);
    std::string text =
        pad_left(share, 11) + "  " + printable(module.path) + "\n" + std::string(13, ' ');
    text += module.found_in.empty() ? "no file with build id " + module.build_id
                                    : "by " + printable(module.found_in);
    if (!module.problem.empty()) text += "; " + printable(module.problem);
    return text + "\n";
}

// Modules found, then missing ones. Files that exist without debug information are only counted.
std::string module_rows(const SymbolizeSummary& summary) {
    constexpr std::size_t missing_rows = 20;
    std::string found, missing;
    std::size_t missing_count = 0;
    std::size_t bare = 0;
    for (const SymbolizedModule& module : summary.modules) {
        if (module.found > 0) {
            found += module_row(module);
        } else if (module.found_in.empty() || !module.problem.empty()) {
            if (++missing_count <= missing_rows) missing += module_row(module);
        } else {
            ++bare;
        }
    }
    std::string text = found + missing;
    if (missing_count > missing_rows)
        text += "  and " + counted(missing_count - missing_rows, "more file", "more files") +
                " not found\n";
    if (bare > 0)
        text +=
            "No debug information for " + counted(bare, "file", "files") + " on this machine.\n";
    return text;
}

}  // namespace

void update_quality(const SymbolizeSummary& summary, trace::StackQuality& quality) {
    quality.frames = summary.after.frames;
    quality.frames_named = summary.after.named;
    quality.frames_located = summary.after.located;
    // Whatever the recording's machine left out has now been looked up.
    quality.naming.modules_left_out = quality.naming.places_left_out =
        quality.naming.lines_left_out = 0;
    quality.naming.modules_gone = static_cast<std::uint64_t>(
        std::count_if(summary.modules.begin(), summary.modules.end(),
                      [](const SymbolizedModule& module) { return module.found_in.empty(); }));
}

std::string symbolize_text(const SymbolizeSummary& summary) {
    std::string text = module_rows(summary);
    if (summary.modules.empty()) text += "No names or source lines are missing.\n";
    if (summary.places_without_build_id > 0)
        text += with_commas(summary.places_without_build_id) +
                " addresses are in files without a build id.\n";
    const auto change = [](std::uint64_t before, const std::uint64_t after, std::uint64_t whole) {
        return percent(ratio(before, whole)) + " -> " + percent(ratio(after, whole));
    };
    text += "named frames " +
            change(summary.before.named, summary.after.named, summary.after.frames) +
            ", with source lines " +
            change(summary.before.located, summary.after.located, summary.after.frames) + "\n";
    return text + "wrote " + summary.bundle.path.string() + "\n";
}

boost::json::object symbolize_json(const SymbolizeSummary& summary) {
    boost::json::array modules;
    for (const SymbolizedModule& module : summary.modules)
        modules.push_back(boost::json::object{{"path", printable(module.path)},
                                              {"build_id", module.build_id},
                                              {"places", module.places},
                                              {"found", module.found},
                                              {"found_in", printable(module.found_in)},
                                              {"problem", printable(module.problem)}});
    const auto counts = [](const analysis::FrameCounts& frames) {
        return boost::json::object{{"frames", frames.frames},
                                   {"frames_named", frames.named},
                                   {"frames_located", frames.located}};
    };
    return {{"bundle", printable(summary.bundle.path.string())},
            {"digest", summary.bundle.digest},
            {"bytes", summary.bundle.size_bytes},
            {"before", counts(summary.before)},
            {"after", counts(summary.after)},
            {"modules", std::move(modules)},
            {"places_without_build_id", summary.places_without_build_id}};
}

}  // namespace lagtrap::cli
