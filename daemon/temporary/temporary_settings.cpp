#include "daemon/temporary/temporary_settings.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/element_text.hpp"
#include "settings/event_schema.hpp"
#include "settings/parser.hpp"
#include "settings/place.hpp"
#include "settings/schema.hpp"

namespace lagtrap::daemon {
namespace {

// Of its recordings, which only its client reads.
constexpr std::uint64_t spool_limit_bytes = 512ULL << 20;
constexpr std::uint64_t capture_limit_bytes = 256ULL << 20;
constexpr std::uint64_t table_limit_bytes = 32ULL << 20;
constexpr std::uint64_t max_open_runs = 7168;

constexpr std::array<const char*, 3> traces{"calls", "functions", "object"};

Error wrong(const std::string& what) {
    return make_error(ErrorKind::Invalid, "a temporary event " + what);
}

Error error_of(const settings::Diagnostic& first) {
    return make_error(ErrorKind::Invalid,
                      fmt::format("event:{}:{}: {}; {}", first.line, first.column,
                                  printable(first.found), printable(first.allowed)));
}

std::string size_text(std::uint64_t bytes) { return fmt::format("{}B", bytes); }
std::string time_text(std::chrono::nanoseconds time) {
    return fmt::format("{}us", std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}
std::string share_text(std::uint64_t ppm) {
    return fmt::format("{}.{:03}%", ppm / 10'000, ppm % 10'000 / 10);
}

const char* command_lines_text(settings::CommandLines lines) {
    if (lines == settings::CommandLines::All) return "all";
    return lines == settings::CommandLines::Program ? "program" : "masked";
}

// The kinds in the order of settings::BudgetPart.
constexpr std::array<const char*, 7> part_words{"switches", "samples", "history", "times",
                                                "stacks",   "stages",  "events"};

std::string words_of_parts(const std::vector<settings::BudgetPart>& kinds) {
    std::string text;
    for (const settings::BudgetPart kind : kinds)
        text +=
            (text.empty() ? "" : " ") + std::string(part_words.at(static_cast<std::size_t>(kind)));
    return text.empty() ? "none" : text;
}

std::string recording_text(const settings::Recording& recording) {
    return fmt::format(
        "<recording sample-interval=\"{}\" cool-down=\"0s\" captures-per-hour=\"3600\" "
        "capture-size-limit=\"{}\" merge-limit=\"{}\" stack-copies=\"{}\" scheduling=\"{}\"/>\n",
        time_text(recording.sample_interval),
        size_text(std::min(recording.capture_size_limit_bytes, capture_limit_bytes)),
        time_text(recording.merge_limit), size_text(recording.stack_copies_bytes),
        recording.scheduling ? "yes" : "no");
}

std::string history_text(const settings::History& history) {
    return fmt::format(
        "<history length=\"{}\" sample-interval=\"{}\" early-share=\"{}\" times=\"{}\"/>\n",
        time_text(history.length), time_text(history.sample_interval),
        share_text(history.early_share_ppm), history.times ? "yes" : "no");
}

std::string budget_text(const settings::Budget& budget, std::uint64_t share_ppm) {
    // The default grows with the machine's memory, which is too much for one event.
    const std::uint64_t open_runs =
        budget.open_runs == 0 ? max_open_runs : std::min(budget.open_runs, max_open_runs);
    return fmt::format(
        "<budget share=\"{}\" recording-share=\"{}\" interval=\"{}\" disable=\"{}\" pause=\"{}\" "
        "open-runs=\"{}\"/>\n",
        share_text(share_ppm), share_text(budget.recording_share_ppm), time_text(budget.interval),
        words_of_parts(budget.disable), time_text(budget.pause), open_runs);
}

std::string context_text(const settings::Context& context) {
    return fmt::format("<context read=\"{}\" attributes=\"{}\"/>\n", context.read ? "yes" : "no",
                       context.attributes.empty() ? "none"
                                                  : settings::attribute_text(fmt::format(
                                                        "{}", fmt::join(context.attributes, " "))));
}

}  // namespace

Result<std::string> name_of_temporary_event(std::string_view text) {
    if (text.size() > temporary_event_limit_bytes)
        return make_error(ErrorKind::TooLarge,
                          fmt::format("a temporary event has at most {} bytes; this one has {}",
                                      temporary_event_limit_bytes, text.size()));
    const settings::LineIndex index(text);
    settings::Diagnostics diagnostics;
    const bool is_preset = trimmed(text, " \t\r\n").starts_with("<use");
    const auto event = settings::read_document(
        index, diagnostics, is_preset ? settings::use_element() : settings::event_element);
    if (const auto errors = diagnostics.take(); !errors.empty()) return error_of(errors.front());
    if (!event) return wrong("is one <event> or <use> element");
    for (const char* const trace : traces)
        if (event->child(trace) != nullptr) return wrong(fmt::format("has no <{}>", trace));
    if (event->text_of("record") == "runs") return wrong("records delays only, not runs");
    return std::string(event->text_of(is_preset ? "preset" : "name"));
}

std::string temporary_settings(std::string_view text, const std::filesystem::path& folder,
                               const settings::Settings& service, std::uint64_t share_ppm) {
    const std::string root = settings::attribute_text(folder.string());
    const settings::Unwinding& unwinding = service.unwinding;
    return fmt::format("<lagtrap version=\"1\">\n{}{}", recording_text(service.recording),
                       history_text(service.history)) +
           budget_text(service.budget, share_ppm) + context_text(service.context) +
           fmt::format("<privacy command-lines=\"{}\"/>\n",
                       command_lines_text(service.privacy.command_lines)) +
           fmt::format("<unwinding memory=\"{}\" cache=\"{}\" cache-limit=\"{}\"/>\n",
                       size_text(std::min(unwinding.memory_bytes, table_limit_bytes)),
                       settings::attribute_text(unwinding.cache_path),
                       size_text(unwinding.cache_limit_bytes)) +
           fmt::format(
               "<spool path=\"{0}/spool\" size-limit=\"{1}\"/>\n<control "
               "socket=\"{0}/control.sock\"/>\n",
               root, size_text(spool_limit_bytes)) +
           std::string(text) + "\n</lagtrap>\n";
}

}  // namespace lagtrap::daemon
