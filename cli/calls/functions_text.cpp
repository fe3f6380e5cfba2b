#include "cli/calls/functions_text.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "cli/calls/function_rows.hpp"
#include "cli/calls/trace_text.hpp"
#include "cli/console/text_layout.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

using calls::FunctionTotals;

// "12 allocator, 3 start and end of programs"
std::string list_of(const std::vector<calls::ReasonCount>& counts) {
    std::string list;
    for (const calls::ReasonCount& one : counts)
        list += (list.empty() ? "" : ", ") + with_commas(one.count) + " " + one.reason;
    return list;
}

std::string file_names(const std::vector<std::string>& files) {
    constexpr std::size_t most = 4;
    std::string list;
    for (std::size_t i = 0; i < std::min(files.size(), most); ++i)
        list += (list.empty() ? "" : ", ") + std::filesystem::path(files[i]).filename().string();
    if (files.size() > most) list += " and " + counted(files.size() - most, "other", "others");
    return list;
}

std::vector<FunctionRow> rows_of(const std::vector<FunctionTotals>& totals,
                                 const std::vector<calls::Function>& functions) {
    std::vector<FunctionRow> rows;
    for (const FunctionTotals& one : totals) {
        const calls::Function& function = functions[one.function];
        FunctionRow row;
        row.name = function.name;
        row.source = source_place(function.source, function.line);
        row.calls = one.calls + one.unbegun;
        row.own_ns = one.own_ns;
        row.longest_ns = one.longest_ns;
        row.timed = one.unbegun == 0;
        for (auto caller = one.path.rbegin(); caller != one.path.rend(); ++caller)
            if (*caller < functions.size()) row.path.push_back(functions[*caller].name);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string counted_text(const std::vector<FunctionRow>& rows, std::size_t top,
                         const CallsLook& look) {
    std::uint64_t whole_ns = 0;
    for (const FunctionRow& one : rows) whole_ns += one.own_ns;
    std::string text = own_time_rows(rows, whole_ns, top, look);
    if (rows.size() > top)
        text += fmt::format("  and {}; --top shows more\n",
                            counted(rows.size() - top, "other", "others"));
    if (std::any_of(rows.begin(), rows.end(), [](const FunctionRow& one) { return !one.timed; }))
        text += wrap_words(
            "\"-\": the runtime reported ends of these calls without all begins, so they have no "
            "times",
            look.columns, 2);
    return text + longest_rows(rows, look);
}

// The reason follows on the same line if it fits, otherwise on the next.
std::string hook_text(const calls::HookCount& hook, const CallsLook& look) {
    constexpr std::size_t figures = 62, indent = 13;
    std::string text = fmt::format(
        "{}  {} {} {}", pad_left(hook.functions == 0 ? "-" : with_commas(hook.functions), 11),
        pad_right(hook.entry, 19), pad_right(hook.exit, 16),
        pad_left(hook.cost_ns == 0 ? "-" : duration(hook.cost_ns), 8));
    if (figures + hook.reason.size() <= look.columns) return text + "  " + hook.reason + "\n";
    return text + "\n" + wrap_words(hook.reason, look.columns, indent);
}

std::string runtime_text(const calls::RuntimeEnd& one, std::uint64_t length_ns,
                         const CallsLook& look) {
    if (!one.advice.empty()) return wrap_words(one.advice, look.columns, 2);
    std::string text;
    if (!one.left_out.empty())
        text += wrap_words(
            fmt::format("{}: {} not shown ({}); --include shows matching ones", one.language,
                        counted(sum_of(one.left_out), "function", "functions"),
                        list_of(one.left_out)),
            look.columns, 2);
    if (one.watched_ns < length_ns - length_ns / 20)
        text += wrap_words(fmt::format("{}: probed for {} of {}, in turns, to stay within "
                                       "--budget; counts and times cover only these turns",
                                       one.language, duration(one.watched_ns), duration(length_ns)),
                           look.columns, 2);
    return text;
}

}  // namespace

std::string functions_started_text(const calls::FunctionsStarted& started, const CallsLook& look) {
    std::string text = look.paint(Colour::Bold, "Functions") +
                       fmt::format(" of {} ({}): ", started.process, started.pid);
    text += started.own_files.empty()
                ? "those that its runtime reports\n"
                : fmt::format("{} watched, of {}\n", with_commas(started.functions.size()),
                              file_names(started.own_files));
    if (!started.system_files.empty())
        text += wrap_words(fmt::format("not watched: {} ({})",
                                       counted(sum_of(started.system_files), "file", "files"),
                                       list_of(started.system_files)),
                           look.columns, 2);
    if (!started.system_functions.empty())
        text += wrap_words("not watched: " + list_of(started.system_functions), look.columns, 2);
    if (started.moved_in != 0)
        text += fmt::format("  by --include: {} more\n", with_commas(started.moved_in));
    if (started.moved_out != 0)
        text += fmt::format("  by --exclude: {} fewer\n", with_commas(started.moved_out));
    text += beyond_limit_text(started.beyond_limit) + refused_text(started.refused, look);
    text += "\n" +
            look.paint(Colour::Bold,
                       "  functions  entry               end                a call  why") +
            "\n";
    for (const calls::HookCount& one : started.hooks) text += hook_text(one, look);
    return text + attached_text(started.attached_by, started.plan_ns, started.attach_ns, look);
}

std::string functions_ended_text(const calls::FunctionsEnded& ended,
                                 const std::vector<calls::Function>& functions, std::size_t top,
                                 const CallsLook& look) {
    std::string text;
    if (ended.totals.empty()) {
        const bool advised =
            std::any_of(ended.runtimes.begin(), ended.runtimes.end(),
                        [](const calls::RuntimeEnd& one) { return !one.advice.empty(); });
        text = advised ? "No calls seen.\n"
                       : "No call of these functions ended; the process may have been waiting all "
                         "the time.\n";
    } else {
        text = counted_text(rows_of(ended.totals, functions), top, look);
    }
    for (const calls::RuntimeEnd& one : ended.runtimes)
        text += runtime_text(one, ended.length_ns, look);
    if (ended.unnamed != 0)
        text += wrap_words(fmt::format("{} of functions without a name or beyond the first 4,096",
                                       counted(ended.unnamed, "begin or end", "begins and ends")),
                           look.columns, 2);
    const double seconds = static_cast<double>(std::max<std::uint64_t>(ended.length_ns, 1)) / 1e9;
    const std::string reported = fmt::format(
        "{} of at least {} reported, {} per second", counted(ended.sent, "call", "calls"),
        duration(ended.min_ns),
        format_byte_size(static_cast<std::uint64_t>(static_cast<double>(ended.bytes) / seconds)));
    return text + end_text({ended.reason, reported, ended.length_ns, ended.detach_ns,
                            ended.not_sent, ended.too_deep, 256});
}

}  // namespace lagtrap::cli
