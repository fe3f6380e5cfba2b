#include "cli/add/add_offers.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/core.h>

#include "cli/control/status_fields.hpp"
#include "cli/programs/marker_list.hpp"
#include "cli/status/histogram.hpp"
#include "settings/element_text.hpp"
#include "settings/preset.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t name_bytes = 63;
constexpr std::size_t probes_limit = 24;
constexpr std::size_t offers_with_stages = 3;

// A process in a container sees the file under its own root. One that was just found may have
// ended.
Result<FileMarkers> markers_of_program(const AddTarget& target) {
    for (const MappedProcess& process : target.processes) {
        auto markers = markers_of_file(file_of(target, process), target.program, ListFunctions::No);
        if (markers) return markers;
        const ErrorKind kind = markers.error().kind;
        if (kind != ErrorKind::NotFound && kind != ErrorKind::Vanished) return markers.error();
    }
    return markers_of_file(target.program, target.program, ListFunctions::No);
}

std::optional<settings::Preset> load(const std::string& name) {
    const auto file = settings::find_preset(name);
    if (!file) return std::nullopt;
    return settings::load_preset(*file).preset;
}

bool is_for_program(const settings::Preset& preset, const AddTarget& target) {
    const std::vector<std::string> binaries = binaries_of(preset);
    for (const MappedProcess& process : target.processes)
        if (uses_one_of(process, binaries, true)) return true;
    if (!target.processes.empty()) return false;
    std::error_code ignored;
    for (const std::string& path : settings::installed_programs(preset.programs))
        if (fs::equivalent(path, target.program, ignored)) return true;
    return std::any_of(binaries.begin(), binaries.end(), [&](const std::string& binary) {
        return settings::means_file(binary, target.name, {});
    });
}

// "checkpoint" for "checkpoint__start"; nullopt if the name is not a begin.
std::optional<std::pair<std::string, std::vector<std::string>>> begun_by(const std::string& name) {
    static const std::map<std::string_view, std::vector<std::string>> pairs{
        {"__start", {"__done", "__end", "__stop", "__finish"}},
        {"__begin", {"__end", "__done"}},
        {"__entry", {"__return", "__exit"}},
        {"_start", {"_done", "_end", "_stop", "_finish", "_finished"}},
        {"_begin", {"_end", "_done"}},
        {"_entry", {"_return", "_exit"}}};
    for (const auto& [begin, ends] : pairs) {
        if (!name.ends_with(begin)) continue;
        const std::string stem = name.substr(0, name.size() - begin.size());
        std::vector<std::string> names;
        for (const std::string& end : ends) names.push_back(stem + end);
        return std::pair(stem, names);
    }
    return std::nullopt;
}

// The shortest that means the pair: <usdt>, if both names are the stem and "__" with an ending.
std::string pair_element(const std::string& provider, const std::string& stem,
                         const std::string& begin, const std::string& end) {
    const auto quoted = [](const std::string& text) { return settings::attribute_text(text); };
    const std::string common = stem + "__";
    if (!begin.starts_with(common) || !end.starts_with(common))
        return fmt::format("    <begin usdt=\"{0}:{1}\"/>\n    <end usdt=\"{0}:{2}\"/>\n",
                           quoted(provider), quoted(begin), quoted(end));
    std::string text =
        fmt::format("    <usdt provider=\"{}\" name=\"{}\"", quoted(provider), quoted(stem));
    const std::string first = begin.substr(common.size()), last = end.substr(common.size());
    if (first != "start") text += fmt::format(" begin=\"{}\"", quoted(first));
    if (last != "done") text += fmt::format(" end=\"{}\"", quoted(last));
    return text + "/>\n";
}

// Empty if neither is given.
std::string scope_element(const std::string& unit, const std::string& program) {
    if (unit.empty() && program.empty()) return {};
    std::string text = "<scope";
    if (!unit.empty()) text += fmt::format(" unit=\"{}\"", settings::attribute_text(unit));
    if (!program.empty()) text += fmt::format(" binary=\"{}\"", settings::attribute_text(program));
    return text + "/>";
}

// For an event whose markers are in a file.
std::string binary_attribute(const char* before, const Offer& offer) {
    if (offer.binary.empty()) return {};
    return fmt::format("{}binary=\"{}\"", before, settings::attribute_text(offer.binary));
}

// "buy" for "app::Shop::buy(int)".
std::string last_part(std::string function) {
    function = without_parameters(function);
    if (const auto template_part = function.find('<'); template_part != std::string::npos)
        function.resize(template_part);
    if (const auto part = function.rfind("::"); part != std::string::npos)
        function.erase(0, part + 2);
    return function;
}

// `first` precedes what no name begins with.
std::string allowed_name(std::string name, const char* first) {
    for (char& c : name)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            c = '-';
    if (name.empty() || name[0] == '-' || (name[0] >= '0' && name[0] <= '9')) name.insert(0, first);
    return name;
}

std::string stage_elements(const Offer& offer) {
    std::string text;
    for (const OfferedStage& stage : offer.stages)
        text += fmt::format("    <stage name=\"{}\" function=\"{}\"/>\n",
                            settings::attribute_text(stage.name),
                            settings::attribute_text(stage.function));
    return text;
}

}  // namespace

std::string without_parameters(const std::string& function) {
    constexpr std::string_view nameless = "(anonymous namespace)";
    for (std::size_t at = function.find('('); at != std::string::npos;
         at = function.find('(', at + 1))
        if (at > 0 && function.compare(at, nameless.size(), nameless) != 0)
            return function.substr(0, at);
    return function;
}

std::string setting_name(std::string function) {
    return allowed_name(last_part(std::move(function)), "f").substr(0, name_bytes - 4);
}

std::string event_name(const std::string& program, std::string function) {
    return allowed_name(
               fs::path(program).filename().string() + "-" + last_part(std::move(function)), "e")
        .substr(0, name_bytes);
}

std::uint64_t Offer::runs() const {
    std::uint64_t sum = 0;
    for (const OfferedEvent& event : events) sum += event.measured.runs;
    return sum;
}

std::vector<Offer> preset_offers(const AddTarget& target) {
    std::vector<Offer> offers;
    for (const std::string& name : settings::preset_names()) {
        const auto preset = load(name);
        if (!preset || !is_for_program(*preset, target)) continue;
        Offer offer{OfferKind::Preset,
                    "preset " + name,
                    preset->about,
                    name,
                    preset->may_have_scope,
                    {},
                    {}};
        for (const settings::Element& event : preset->events)
            offer.events.push_back({std::string(event.text_of("name")),
                                    {},
                                    std::string(event.text_of("threshold")),
                                    {},
                                    {}});
        offers.push_back(std::move(offer));
    }
    return offers;
}

std::vector<std::string> library_presets(const AddTarget& target) {
    std::vector<std::string> names;
    for (const std::string& name : settings::preset_names()) {
        const auto preset = load(name);
        if (!preset || is_for_program(*preset, target)) continue;
        const std::vector<std::string> binaries = binaries_of(*preset);
        if (std::any_of(
                target.processes.begin(), target.processes.end(),
                [&](const MappedProcess& process) { return uses_one_of(process, binaries); }))
            names.push_back(name);
    }
    return names;
}

std::vector<Offer> probe_offers(const AddTarget& target) {
    const auto markers = markers_of_program(target);
    std::vector<Offer> offers;
    if (!markers) return offers;
    std::set<std::string> known;
    for (const ProbeMarker& probe : markers->probes)
        if (probe.in_code) known.insert(probe.provider + ":" + probe.name);
    for (const ProbeMarker& probe : markers->probes) {
        const auto begun = begun_by(probe.name);
        if (!begun || !probe.in_code || offers.size() == probes_limit) continue;
        for (const std::string& end : begun->second) {
            if (!known.contains(probe.provider + ":" + end)) continue;
            Offer offer{OfferKind::Probes,
                        fmt::format("probes {}:{} and {}", probe.provider, probe.name, end),
                        "Marked by the program itself.",
                        {},
                        true,
                        target.name,
                        {}};
            offer.events.push_back({event_name(target.name, begun->first),
                                    pair_element(probe.provider, begun->first, probe.name, end),
                                    {},
                                    {},
                                    {}});
            offers.push_back(std::move(offer));
            break;
        }
    }
    return offers;
}

std::string trial_elements(const std::vector<Offer>& offers, const AddTarget& target) {
    std::string elements;
    for (std::size_t i = 0; i < offers.size(); ++i) {
        const Offer& offer = offers[i];
        if (offer.kind == OfferKind::Preset) {
            elements += fmt::format(
                "<use preset=\"{}\" prefix=\"t{}-\" threshold=\"1h\" "
                "trace-length=\"10ms\">{}</use>\n",
                offer.preset, i,
                offer.may_have_scope ? scope_element(target.unit, {}) : std::string());
            continue;
        }
        elements += fmt::format(
            "<event name=\"t{}-{}\" threshold=\"1h\" trace-length=\"10ms\" "
            "breach=\"end\"{}>{}\n{}</event>\n",
            i, offer.events.front().name.substr(0, name_bytes - 5), binary_attribute(" ", offer),
            scope_element(target.unit, offer.scope_program), offer.events.front().element);
    }
    return elements;
}

void keep_stages_to_try(std::vector<Offer>& offers) {
    std::size_t count = 0;
    for (Offer& offer : offers)
        if (offer.events.front().measured.too_often ||
            (!offer.stages.empty() && ++count > offers_with_stages))
            offer.stages.clear();
}

std::string stage_trial_name(std::size_t i) { return fmt::format("stages{}", i); }

std::string stage_trial_elements(const std::vector<Offer>& offers, const AddTarget& target) {
    std::string elements;
    for (std::size_t i = 0; i < offers.size(); ++i) {
        const Offer& offer = offers[i];
        if (offer.stages.empty()) continue;
        elements += fmt::format(
            "<event name=\"{}\" threshold=\"1h\" trace-length=\"10ms\" breach=\"end\" "
            "record=\"runs\"{}>{}\n{}{}</event>\n",
            stage_trial_name(i), binary_attribute(" ", offer),
            scope_element(target.unit, offer.scope_program), offer.events.front().element,
            stage_elements(offer));
    }
    return elements;
}

void take_stages(Offer& offer, const std::vector<trace::RecordedRun>& runs) {
    StageCheck check = check_stages(std::move(offer.stages), runs);
    offer.stages = std::move(check.stages);
    offer.stage_runs = check.runs;
    offer.before_stages_permille = check.before_permille;
}

void take_measured(std::vector<Offer>& offers, const boost::json::object& status,
                   std::chrono::nanoseconds time) {
    std::map<std::string, const boost::json::object*> found;
    for (const auto& event : list(status, "events"))
        found[text(event.as_object(), "name")] = &event.as_object();
    for (std::size_t i = 0; i < offers.size(); ++i) {
        Offer& offer = offers[i];
        for (OfferedEvent& event : offer.events) {
            const std::string suffix =
                offer.kind == OfferKind::Preset ? event.name : event.name.substr(0, name_bytes - 5);
            const auto one = found.find(fmt::format("t{}-{}", i, suffix));
            if (one == found.end()) continue;
            const boost::json::object& seen = *one->second;
            Measured& measured = event.measured;
            const auto histogram = histogram_of(seen);
            measured.armed = truth(seen, "armed");
            measured.too_often = truth(seen, "disabled");
            measured.problem = text(seen, "problem");
            measured.runs = number(seen, "runs");
            measured.unended = number(seen, "unmatched_begins") + number(seen, "open");
            measured.max_ns = number(seen, "max_ns");
            measured.p50_ns = std::min(percentile_ns(histogram, 0.5), measured.max_ns);
            measured.p99_ns = std::min(percentile_ns(histogram, 0.99), measured.max_ns);
            measured.sum_ns = number(part(seen, "timed"), "ns");
            measured.on_cpu_ns = number(part(seen, "timed"), "on_cpu_ns");
            if (measured.runs > 0) event.threshold = threshold_for(measured);
            // A function that a thread is in nearly all the time is a loop.
            constexpr double nearly_always = 0.95;
            const double share = static_cast<double>(measured.sum_ns) /
                                 static_cast<double>(std::max<std::int64_t>(1, time.count()));
            if (offer.kind == OfferKind::Function && share > nearly_always &&
                share < 1 + (1 - nearly_always))
                offer.is_loop = true;
        }
    }
}

std::vector<Offer> ranked(std::vector<Offer> offers) {
    const auto is_useless = [](const Offer& offer) {
        const Measured& measured = offer.events.front().measured;
        if (offer.kind == OfferKind::Preset) return false;
        return (!measured.armed && !measured.too_often) ||
               (measured.runs == 0 && offer.kind != OfferKind::Probes) || offer.is_loop;
    };
    std::erase_if(offers, is_useless);
    const auto on_cpu = [](const Offer& offer) { return offer.events.front().measured.on_cpu_ns; };
    std::uint64_t max_of_functions_ns = 0;
    for (const Offer& offer : offers)
        if (offer.kind != OfferKind::Preset && offer.kind != OfferKind::Loop &&
            !offer.waits_for_events)
            max_of_functions_ns = std::max(max_of_functions_ns, on_cpu(offer));
    const auto place_of = [&](const Offer& offer) {
        if (offer.kind == OfferKind::Preset) return 0;
        if (offer.kind == OfferKind::Loop) return on_cpu(offer) > 3 * max_of_functions_ns ? 1 : 3;
        return offer.waits_for_events ? 4 : 2;
    };
    const auto rank = [&](const Offer& offer) {
        const Measured& measured = offer.events.front().measured;
        return std::tuple(place_of(offer), measured.too_often, measured.runs == 0);
    };
    std::stable_sort(offers.begin(), offers.end(),
                     [&](const Offer& a, const Offer& b) { return rank(a) < rank(b); });
    // Functions that cover about the same CPU time call each other, and the outermost is the
    // operation. They are ordered from the outside in, so of those close to the largest, take the
    // first.
    constexpr double about_the_same = 0.75;
    for (auto next = offers.begin(); next != offers.end(); ++next) {
        const auto end = std::find_if(
            next, offers.end(), [&](const Offer& offer) { return rank(offer) != rank(*next); });
        if (next->kind == OfferKind::Preset) continue;
        const std::uint64_t max_ns = on_cpu(*std::max_element(
            next, end, [&](const Offer& a, const Offer& b) { return on_cpu(a) < on_cpu(b); }));
        const auto first = std::find_if(next, end, [&](const Offer& offer) {
            return static_cast<double>(on_cpu(offer)) >=
                   about_the_same * static_cast<double>(max_ns);
        });
        std::rotate(next, first, first + 1);
    }
    return offers;
}

std::string threshold_for(const Measured& measured) {
    const std::uint64_t wanted_ns = std::max(2 * measured.max_ns, 4 * measured.p99_ns);
    constexpr std::uint64_t hour_ms = 3'600'000;
    for (std::uint64_t decade_ms = 1; decade_ms <= hour_ms; decade_ms *= 10)
        for (const std::uint64_t step : {1, 2, 5})
            if (const std::uint64_t ms = decade_ms * step; ms * 1'000'000 >= wanted_ns)
                return ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms);
    return "1h";
}

namespace {

std::string use_element(const Offer& offer, const std::string& events, const std::string& threshold,
                        const OfferChoice& choice) {
    std::string text = fmt::format("  <use preset=\"{}\"", offer.preset);
    if (!events.empty()) text += fmt::format(" events=\"{}\"", events);
    if (!threshold.empty())
        text += fmt::format(" threshold=\"{}\"", settings::attribute_text(threshold));
    if (!choice.prefix.empty())
        text += fmt::format(" prefix=\"{}\"", settings::attribute_text(choice.prefix));
    if (choice.unit.empty() || !offer.may_have_scope) return text + "/>\n";
    return text + ">\n    " + scope_element(choice.unit, {}) + "\n  </use>\n";
}

// Events that ran get their own thresholds, the others keep the preset's.
std::string preset_elements(const Offer& offer, const OfferChoice& choice) {
    if (!choice.threshold.empty()) return use_element(offer, {}, choice.threshold, choice);
    if (offer.events.size() == 1)
        return use_element(offer, {}, offer.events.front().threshold, choice);
    std::string text, others;
    std::size_t measured = 0;
    for (const OfferedEvent& event : offer.events) {
        if (event.threshold.empty()) {
            others += (others.empty() ? "" : " ") + event.name;
        } else {
            ++measured;
            text += use_element(offer, event.name, event.threshold, choice);
        }
    }
    if (!others.empty())
        text += use_element(offer, measured == 0 ? std::string() : others, {}, choice);
    return text;
}

}  // namespace

std::string settings_elements(const Offer& offer, const OfferChoice& choice) {
    if (offer.kind == OfferKind::Preset) return preset_elements(offer, choice);
    const OfferedEvent& event = offer.events.front();
    constexpr const char* unmeasured_threshold = "500ms";
    std::string threshold = choice.threshold.empty() ? event.threshold : choice.threshold;
    if (threshold.empty()) threshold = unmeasured_threshold;
    std::string text =
        fmt::format("  <event name=\"{}\" threshold=\"{}\"{}>\n",
                    settings::attribute_text((choice.prefix + event.name).substr(0, name_bytes)),
                    settings::attribute_text(threshold), binary_attribute("\n         ", offer));
    if (const std::string scope = scope_element(choice.unit, offer.scope_program); !scope.empty())
        text += "    " + scope + "\n";
    return text + event.element + stage_elements(offer) + "  </event>\n";
}

}  // namespace lagtrap::cli
