#include "cli/reports/report_traced.hpp"

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/calls/function_rows.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/reports/report_functions.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t max_function_rows = 10;

const trace::FunctionCounts* counts_for(const analysis::Recording& recording,
                                        const trace::Delay& delay) {
    const auto& counts = recording.system.functions;
    return counts && counts->pid == delay.begin_pid ? &*counts : nullptr;
}

std::vector<FunctionRow> rows_of(const trace::FunctionCounts& counts) {
    std::vector<FunctionRow> rows;
    for (const trace::CountedFunction& one : counts.functions)
        rows.push_back({one.name, source_place(one.source, one.line), one.calls, one.own_ns,
                        one.longest_ns, one.path});
    return rows;
}

// What was counted, and since when.
std::string note_of(const analysis::Recording& recording, const trace::FunctionCounts& counts) {
    const std::uint64_t breach_ns = recording.system.breach_boottime_ns;
    const std::string from = counts.from_ns < breach_ns
                                 ? duration(breach_ns - counts.from_ns) + " before the breach"
                                 : duration(counts.from_ns - breach_ns) + " after the breach";
    return fmt::format("{} of {} traced for {}, from {} on; own time excludes callees and probes",
                       counted(counts.watched, "function", "functions"), counts.process,
                       duration(counts.length_ns), from);
}

// What is missing.
std::string losses_of(const trace::FunctionCounts& counts) {
    std::string text = fmt::format("Calls of {} or longer are in the trace: {}.",
                                   duration(counts.min_ns), with_commas(counts.reported));
    if (counts.not_reported != 0)
        text += fmt::format(" {} more did not fit.", with_commas(counts.not_reported));
    if (counts.detached != 0)
        text += fmt::format(" {} detached (called too often); later calls are not counted.",
                            counted(counts.detached, "function was", "functions were"));
    if (counts.too_deep != 0)
        text += fmt::format(" {} nested too deep to be seen.",
                            counted(counts.too_deep, "call", "calls"));
    return text;
}

}  // namespace

std::string traced_part(const analysis::Recording& recording, const trace::Delay& delay,
                        const ReportLook& look) {
    const trace::FunctionCounts* const counts = counts_for(recording, delay);
    if (counts == nullptr || counts->length_ns == 0) return "";
    const CallsLook as_calls{look.paint, look.columns, look.all, !look.all};
    std::string text = section_title(look.paint, "Functions traced");
    text += wrap_words(note_of(recording, *counts), look.columns, 2);
    if (counts->functions.empty())
        return text + wrap_words("No call of these functions ended in that time.", look.columns, 2);
    const std::vector<FunctionRow> rows = rows_of(*counts);
    std::uint64_t whole_ns = counts->others_own_ns;
    for (const FunctionRow& one : rows) whole_ns += one.own_ns;
    const std::size_t top = look.all ? rows.size() : max_function_rows;
    text += own_time_rows(rows, whole_ns, top, as_calls);
    if (const std::uint64_t more = counts->others + rows.size() - std::min(rows.size(), top);
        more != 0)
        text += fmt::format("  and {} more\n", with_commas(more));
    return text + longest_rows(rows, as_calls) + wrap_words(losses_of(*counts), look.columns, 2);
}

boost::json::value traced_functions_json(const analysis::Recording& recording,
                                         const trace::Delay& delay) {
    const trace::FunctionCounts* const counts = counts_for(recording, delay);
    if (counts == nullptr) return nullptr;
    boost::json::array functions;
    for (const trace::CountedFunction& one : counts->functions) {
        boost::json::array path(one.path.begin(), one.path.end());
        boost::json::object row{{"function", one.name},   {"module", one.module},
                                {"calls", one.calls},     {"own_ns", one.own_ns},
                                {"left", one.left},       {"longest_ns", one.longest_ns},
                                {"path", std::move(path)}};
        if (!one.source.empty()) {
            row["source"] = one.source;
            row["line"] = one.line;
        }
        functions.push_back(std::move(row));
    }
    return {{"pid", counts->pid},
            {"from_boottime_ns", counts->from_ns},
            {"length_ns", counts->length_ns},
            {"window_ns", counts->window_ns},
            {"watched", counts->watched},
            {"detached", counts->detached},
            {"least_ns", counts->min_ns},
            {"reported", counts->reported},
            {"not_reported", counts->not_reported},
            {"too_deep", counts->too_deep},
            {"functions", std::move(functions)},
            {"others", counts->others},
            {"others_calls", counts->others_calls},
            {"others_own_ns", counts->others_own_ns}};
}

}  // namespace lagtrap::cli
