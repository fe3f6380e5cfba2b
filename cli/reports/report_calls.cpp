#include "cli/reports/report_calls.hpp"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/calls/calls_json.hpp"
#include "cli/calls/calls_text.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/reports/report_functions.hpp"

namespace lagtrap::cli {
namespace {

// The run of the breach began before its calls were watched, so its report points to a run that has
// calls.
std::string others_note(const analysis::Recording& recording, const ReportLook& look) {
    if (recording.run_calls.empty()) return "";
    const auto& delays = recording.system.delays;
    std::size_t with_calls = 0, longest = 0;
    for (std::size_t i = 0; i < delays.size(); ++i) {
        if (recording.calls_of(delays[i]) == nullptr) continue;
        if (with_calls++ == 0 || delays[i].duration_ns > delays[longest].duration_ns) longest = i;
    }
    if (with_calls == 0) return "";
    return section_title(look.paint, "Calls") +
           wrap_words(fmt::format("Not recorded for this run. {} of this recording {} them; the "
                                  "longest is --delay {}.",
                                  counted(with_calls, "delay", "delays"),
                                  with_calls == 1 ? "has" : "have", longest + 1),
                      look.columns, 2);
}

}  // namespace

std::string calls_part(const analysis::Recording& recording, const trace::Delay& delay,
                       const ReportLook& look) {
    const analysis::RunCalls* const found = recording.calls_of(delay);
    if (found == nullptr) return others_note(recording, look);
    const std::string note = "of this run, without the probes' time: share, time, own time";
    const CallsLook as_calls{look.paint, look.columns, look.all, !look.all};
    return section_title(look.paint, "Calls", note) +
           tree_rows(found->tree, found->times, recording.called_functions, as_calls);
}

boost::json::value run_calls_json(const analysis::Recording& recording, const trace::Delay& delay) {
    const analysis::RunCalls* const found = recording.calls_of(delay);
    if (found == nullptr) return nullptr;
    return tree_calls_json(found->tree, found->times, recording.called_functions);
}

}  // namespace lagtrap::cli
