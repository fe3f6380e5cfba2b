#include "cli/add/add_offers.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/core.h>

#include "cli/add/event_names.hpp"
#include "cli/add/offer_elements.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/programs/marker_list.hpp"
#include "cli/status/histogram.hpp"
#include "settings/element_text.hpp"
#include "settings/preset.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

void keep_stages_to_try(std::vector<Offer>& offers) {
    std::size_t count = 0;
    for (Offer& offer : offers)
        if (offer.events.front().measured.too_often ||
            (!offer.stages.empty() && ++count > offers_with_stages))
            offer.stages.clear();
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
            const auto one = found.find(trial_event_name(i, offer.kind, event));
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

}  // namespace lagtrap::cli
