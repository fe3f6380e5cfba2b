#include "cli/reports/report_objects.hpp"

#include <fmt/core.h>

#include "cli/console/text_layout.hpp"
#include "cli/objects/objects_text.hpp"
#include "cli/reports/report_functions.hpp"
#include "trace/merge/recorded_objects.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t max_object_rows = 10;

}  // namespace

std::string objects_part(const analysis::Recording& recording, const trace::Delay& delay,
                         const ReportLook& look) {
    const trace::RecordedObjects all = trace::objects_of(recording.system);
    if (!all.summary.has_begun() || all.summary.started().pid != delay.begin_pid ||
        !all.summary.ended())
        return "";
    const calls::ObjectsEnded& ended = *all.summary.ended();
    const ObjectsLook as_objects{{look.paint, look.columns, look.all, !look.all}, 0, "--all"};
    std::string text = section_title(look.paint, "Objects");
    text += wrap_words(
        fmt::format("of {}, followed for {} from the breach on; times exclude the probes{}",
                    all.summary.started().process, duration(ended.length_ns),
                    all.summary.started().memory.empty()
                        ? ""
                        : "; memory not counted: " + all.summary.started().memory),
        look.columns, 2);
    text += objects_summary_text(all.summary, look.all ? SIZE_MAX : max_object_rows, as_objects);
    if (!all.summary.detached().empty())
        text += wrap_words(
            fmt::format("{} detached (called too often); later calls are not counted.",
                        counted(all.summary.detached().size(), "function was", "functions were")),
            look.columns, 2);
    return text;
}

}  // namespace lagtrap::cli
