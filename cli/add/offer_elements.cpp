#include "cli/add/offer_elements.hpp"

#include <fmt/core.h>

#include "cli/add/event_names.hpp"
#include "settings/element_text.hpp"

namespace lagtrap::cli {
namespace {

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

std::string stage_elements(const Offer& offer) {
    std::string text;
    for (const OfferedStage& stage : offer.stages)
        text += fmt::format("    <stage name=\"{}\" function=\"{}\"/>\n",
                            settings::attribute_text(stage.name),
                            settings::attribute_text(stage.function));
    return text;
}

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
            "<event name=\"{}\" threshold=\"1h\" trace-length=\"10ms\" "
            "breach=\"end\"{}>{}\n{}</event>\n",
            trial_event_name(i, offer.kind, offer.events.front()), binary_attribute(" ", offer),
            scope_element(target.unit, offer.scope_program), offer.events.front().element);
    }
    return elements;
}

std::string trial_event_name(std::size_t i, OfferKind kind, const OfferedEvent& event) {
    return fmt::format(
        "t{}-{}", i,
        kind == OfferKind::Preset ? event.name : event.name.substr(0, event_name_bytes - 5));
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

std::string settings_elements(const Offer& offer, const OfferChoice& choice) {
    if (offer.kind == OfferKind::Preset) return preset_elements(offer, choice);
    const OfferedEvent& event = offer.events.front();
    constexpr const char* unmeasured_threshold = "500ms";
    std::string threshold = choice.threshold.empty() ? event.threshold : choice.threshold;
    if (threshold.empty()) threshold = unmeasured_threshold;
    std::string text = fmt::format(
        "  <event name=\"{}\" threshold=\"{}\"{}>\n",
        settings::attribute_text((choice.prefix + event.name).substr(0, event_name_bytes)),
        settings::attribute_text(threshold), binary_attribute("\n         ", offer));
    if (const std::string scope = scope_element(choice.unit, offer.scope_program); !scope.empty())
        text += "    " + scope + "\n";
    return text + event.element + stage_elements(offer) + "  </event>\n";
}

}  // namespace lagtrap::cli
