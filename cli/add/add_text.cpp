#include "cli/add/add_text.hpp"

#include <algorithm>
#include <filesystem>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/add/offer_elements.hpp"
#include "cli/console/text_layout.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t offers_shown = 8;
constexpr std::uint64_t enough_runs = 20;  // for a threshold

// A script is not the program that its processes run.
std::string interpreter_note(const AddTarget& target, const std::string& asked_for) {
    const bool by_name = asked_for.find_first_not_of("0123456789") != std::string::npos &&
                         asked_for.find('/') == std::string::npos && target.unit.empty();
    const auto is_named = [&](const std::string& path) {
        return std::filesystem::path(path).filename() == asked_for;
    };
    if (!by_name || is_named(target.name) || is_named(target.program)) return {};
    return fmt::format(
        "{} runs in {}: the events count all processes of that program. Give a unit to limit "
        "them to it.",
        printable(asked_for), target.name);
}

std::string stages_text(const Offer& offer) {
    const auto share = [](std::uint64_t permille) {
        return percent(static_cast<double>(permille) / 1000);
    };
    std::string text = fmt::format("stages in {}: ", counted(offer.stage_runs, "run", "runs"));
    if (offer.before_stages_permille > 0)
        text += share(offer.before_stages_permille) + " before the first, ";
    for (const OfferedStage& stage : offer.stages)
        text += fmt::format("{}{} {}", &stage == &offer.stages.front() ? "" : ", ", stage.name,
                            share(stage.share_permille));
    return text;
}

std::string seen_text(const OfferedEvent& event) {
    const Measured& seen = event.measured;
    if (!seen.armed && !seen.too_often)
        return "cannot be watched" + (seen.problem.empty() ? std::string() : ": " + seen.problem);
    if (seen.too_often && seen.runs == 0) return "called too often to fit the budget";
    if (seen.runs == 0) return "no run";
    std::string text =
        fmt::format("{}, median {}, 99 % within {}, longest {}", counted(seen.runs, "run", "runs"),
                    duration(seen.p50_ns), duration(seen.p99_ns), duration(seen.max_ns));
    if (seen.sum_ns > 0)
        text += fmt::format("; {} of it on a CPU", percent(static_cast<double>(seen.on_cpu_ns) /
                                                           static_cast<double>(seen.sum_ns)));
    if (seen.too_often) text += "; called too often to fit the budget";
    if (seen.runs < enough_runs) text += "; few runs: a longer --for proposes a better threshold";
    return text;
}

std::string offer_text(std::size_t number, const Offer& offer, bool is_measured,
                       const AddLook& look) {
    std::string text = fmt::format("{:3}. ", number) +
                       look.paint(Colour::Bold, cut_middle(offer.title, look.columns - 5)) + "\n" +
                       wrap_words(offer.about, look.columns, 5);
    for (const OfferedEvent& event : offer.events)
        if (is_measured)
            text +=
                wrap_words((offer.kind == OfferKind::Preset ? event.name + ": " : std::string()) +
                               seen_text(event),
                           look.columns, 5);
    if (!offer.stages.empty()) text += wrap_words(stages_text(offer), look.columns, 5);
    return text;
}

}  // namespace

std::string offers_text(const std::vector<Offer>& offers, const AddTarget& target,
                        std::chrono::nanoseconds time, const std::string& asked_for,
                        const AddLook& look) {
    std::string heading = target.name;
    if (!target.unit.empty()) heading += ", unit " + target.unit;
    heading += target.processes.empty()
                   ? ", which is not running"
                   : fmt::format(", {}", counted(target.processes.size(), "process", "processes"));
    std::string text = look.paint(Colour::Bold, heading) + "\n";
    if (const std::string note = interpreter_note(target, asked_for); !note.empty())
        text += wrap_words(note, look.columns, 0);
    const bool is_measured = time > std::chrono::nanoseconds::zero() && !target.processes.empty();
    for (std::size_t i = 0; i < std::min(offers.size(), offers_shown); ++i)
        text += offer_text(i + 1, offers[i], is_measured, look);
    if (offers.size() > offers_shown)
        text +=
            fmt::format("  and {}; --json shows them\n",
                        counted(offers.size() - offers_shown, "more proposal", "more proposals"));
    std::string libraries;
    for (const std::string& name : library_presets(target))
        libraries += (libraries.empty() ? "" : ", ") + name;
    if (!libraries.empty())
        text +=
            wrap_words("Presets for libraries that it uses: " + libraries + ".", look.columns, 0);
    return text;
}

std::string nothing_found(const AddTarget& target, std::chrono::nanoseconds time) {
    if (target.processes.empty())
        return target.name +
               " is not running and has no preset; start it, give it work, and try again";
    if (time == std::chrono::nanoseconds::zero())
        return "no preset for " + target.name + "; without --for 0s, it is measured while it works";
    return fmt::format(
        "no requests found in {} within {}: no functions stand out, and no event loop is busy; "
        "give it work meanwhile, or measure longer (--for 30s). `lagtrap list-markers "
        "--functions {}` lists what can be watched",
        target.name, format_duration(time), target.name);
}

std::optional<std::size_t> chosen_number(const std::string& answer, std::size_t count) {
    if (answer.empty()) return 1;
    std::size_t number = 0;
    for (const char c : answer)
        number = c >= '0' && c <= '9' && number < 1000
                     ? number * 10 + static_cast<std::size_t>(c - '0')
                     : 100'000;
    return number >= 1 && number <= count ? std::optional(number) : std::nullopt;
}

json::object add_json(const std::vector<Offer>& all, const AddTarget& target,
                      const AddOutcome& outcome) {
    json::array offers, pids;
    for (const Offer& offer : all) {
        json::array events, stages;
        for (const OfferedStage& stage : offer.stages)
            stages.push_back(json::object{{"name", stage.name},
                                          {"function", stage.function},
                                          {"runs", stage.runs},
                                          {"share_permille", stage.share_permille}});
        for (const OfferedEvent& event : offer.events)
            events.push_back(json::object{{"name", event.name},
                                          {"threshold", event.threshold},
                                          {"runs", event.measured.runs},
                                          {"p50_ns", event.measured.p50_ns},
                                          {"p99_ns", event.measured.p99_ns},
                                          {"max_ns", event.measured.max_ns},
                                          {"too_often", event.measured.too_often},
                                          {"problem", event.measured.problem}});
        offers.push_back(
            json::object{{"title", offer.title},
                         {"about", offer.about},
                         {"preset", offer.preset},
                         {"events", std::move(events)},
                         {"stages", std::move(stages)},
                         {"stage_runs", offer.stage_runs},
                         {"xml", settings_elements(offer, {{}, outcome.prefix, target.unit})}});
    }
    for (const MappedProcess& process : target.processes) pids.push_back(process.pid);
    return {{"program", target.name},
            {"unit", target.unit},
            {"processes", std::move(pids)},
            {"offers", std::move(offers)},
            {"chosen", outcome.chosen},
            {"xml", outcome.xml},
            {"written", outcome.written},
            {"settings", outcome.settings},
            {"daemon", outcome.said},
            {"library_presets", json::value_from(library_presets(target))}};
}

}  // namespace lagtrap::cli
