#include "cli/calls/trace_text.hpp"

#include <fmt/core.h>

#include "cli/console/text_layout.hpp"

namespace lagtrap::cli {

std::uint64_t sum_of(const std::vector<calls::ReasonCount>& counts) {
    std::uint64_t sum = 0;
    for (const calls::ReasonCount& one : counts) sum += one.count;
    return sum;
}

std::string refused_text(const std::vector<calls::ReasonCount>& refused, const CallsLook& look) {
    const std::uint64_t sum = sum_of(refused);
    if (sum == 0) return "";
    std::string text = fmt::format("  cannot be probed: {}{}\n", with_commas(sum),
                                   look.all ? "" : " (--all says why)");
    if (look.all)
        for (const calls::ReasonCount& one : refused)
            text += wrap_words(with_commas(one.count) + ": " + one.reason, look.columns, 4);
    return text;
}

std::string beyond_limit_text(std::uint64_t functions) {
    if (functions == 0) return "";
    return fmt::format("  over the limit: {}; narrow with --exclude\n", with_commas(functions));
}

std::string attached_text(const std::string& attached_by, std::uint64_t plan_ns,
                          std::uint64_t attach_ns, const CallsLook& look) {
    return wrap_words("by " + attached_by, look.columns, 2) +
           fmt::format("  found in {}, attached in {}\n\n", duration(plan_ns), duration(attach_ns));
}

std::string end_text(const TraceEnd& end) {
    std::string text =
        fmt::format("\nEnded after {}: {}; probes removed in {}.\n{}", duration(end.length_ns),
                    end.reason, duration(end.detach_ns), end.reported);
    if (end.not_sent != 0)
        text += fmt::format("; {} more were only counted", with_commas(end.not_sent));
    text += ".\n";
    if (end.too_deep != 0)
        text += fmt::format("{} nested too deep: at most {} open calls per thread are tracked.\n",
                            counted(end.too_deep, "call", "calls"), end.depth);
    return text;
}

}  // namespace lagtrap::cli
