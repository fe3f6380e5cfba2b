#include "settings/preset_use.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/text.hpp"
#include "sandbox/other_writers.hpp"
#include "settings/values.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::size_t errors_shown = 3;

void move_to(Element& element, Place place) {
    element.place = place;
    for (Attribute& attribute : element.attributes) attribute.place = place;
    for (Element& child : element.children) move_to(child, place);
}

const AttributeSpec* spec_of(const Element& element, std::string_view name) {
    const auto specs = element.spec->attributes;
    const auto found = std::find_if(specs.begin(), specs.end(),
                                    [&](const auto& spec) { return spec.name == name; });
    return found == specs.end() ? nullptr : &*found;
}

// Copies the attribute from `use` to `element`, if `use` has it.
void take_attribute(Element& element, const Element& use, std::string_view name) {
    const Attribute* given = use.attribute(name);
    const AttributeSpec* spec = spec_of(element, name);
    if (!given || !spec) return;
    Attribute taken = *given;
    taken.spec = spec;
    std::erase_if(element.attributes,
                  [&](const Attribute& attribute) { return attribute.spec->name == name; });
    element.attributes.push_back(std::move(taken));
}

// Replaces the preset's own program. Markers in other files keep theirs.
void take_binary(Element& event, const Element& use) {
    const std::string own(event.text_of("binary"));
    for (Element& child : event.children) {
        const Attribute* binary = child.attribute("binary");
        if (binary && child.spec->name != "scope" && (own.empty() || binary->text == own))
            take_attribute(child, use, "binary");
    }
    if (!own.empty()) take_attribute(event, use, "binary");
}

bool names_binary(const Element& event) {
    return event.attribute("binary") != nullptr ||
           std::any_of(event.children.begin(), event.children.end(), [](const Element& child) {
               return child.spec->name != "scope" && child.attribute("binary") != nullptr;
           });
}

class PresetUse {
  public:
    PresetUse(const Element& use, Diagnostics& diagnostics)
        : use_(use), diagnostics_(diagnostics) {}

    std::optional<UsedPreset> build() {
        const Attribute* name = use_.attribute("preset");
        if (!name || !name->valid) return std::nullopt;
        const auto file = find_preset(name->text);
        if (!file) {
            const std::string question = ask_about_preset(name->text);
            diagnostics_.add(name->place, printable(file.error().message),
                             "expected the name of a preset",
                             question.empty() ? "`lagtrap presets` lists them" : question);
            return std::nullopt;
        }
        if (const std::string others = other_writers(file->string()); !others.empty())
            diagnostics_.warn(name->place, others +
                                               "; expected only root and the owner: whoever can "
                                               "change a preset chooses what is watched");
        PresetOutcome loaded = load_preset(*file);
        if (!loaded.preset) {
            report_errors(*name, *file, loaded.diagnostics);
            return std::nullopt;
        }
        UsedPreset used{std::move(*loaded.preset), {}};
        choose_events(used);
        check_parameters(used);
        for (Element& event : used.events) adapt(event);
        return used;
    }

  private:
    void report_errors(const Attribute& name, const std::filesystem::path& file,
                       const std::vector<Diagnostic>& errors) {
        for (std::size_t i = 0; i < std::min(errors.size(), errors_shown); ++i) {
            const Diagnostic& error = errors[i];
            const std::string where =
                error.line > 0 ? fmt::format("{}:{}:{}", file.string(), error.line, error.column)
                               : file.string();
            diagnostics_.add(name.place,
                             fmt::format("preset {}: {}: {}", name.text, where, error.found),
                             error.allowed, error.hint);
        }
        if (errors.size() > errors_shown)
            diagnostics_.add(name.place,
                             fmt::format("preset {} has {} more errors", name.text,
                                         errors.size() - errors_shown),
                             "expected none",
                             fmt::format("lagtrap presets {} shows all", file.string()));
    }

    void choose_events(UsedPreset& used) {
        const Attribute* chosen = use_.attribute("events");
        const std::vector<std::string> words =
            chosen && chosen->valid ? words_of(chosen->text) : std::vector<std::string>();
        std::vector<std::string> known;
        for (const Element& event : used.preset.events) {
            known.emplace_back(event.text_of("name"));
            if (words.empty() || std::find(words.begin(), words.end(), known.back()) != words.end())
                used.events.push_back(event);
        }
        for (const std::string& word : words) {
            if (std::find(known.begin(), known.end(), word) != known.end()) continue;
            std::string list;
            for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
            diagnostics_.add(
                chosen->place,
                fmt::format("preset {} has no event {}", used.preset.name, in_quotes(word)),
                "expected some of " + list, did_you_mean(nearest_name(word, known)));
        }
    }

    void check_parameters(const UsedPreset& used) {
        const bool has_binary = std::any_of(used.events.begin(), used.events.end(), names_binary);
        if (const Attribute* binary = use_.attribute("binary"); binary && !has_binary)
            diagnostics_.add(binary->place,
                             fmt::format("binary for preset {}, whose markers are in the kernel",
                                         used.preset.name),
                             "expected none",
                             used.preset.may_have_scope ? "<scope> selects the processes" : "");
        const Element* scope = use_.child("scope");
        if (scope && !used.preset.may_have_scope)
            diagnostics_.add(scope->place, fmt::format("a <scope> for preset {}", used.preset.name),
                             "expected none", "the kernel hits its markers in arbitrary processes");
    }

    void adapt(Element& event) {
        move_to(event, use_.place);
        for (const std::string_view name :
             {"threshold", "threshold-floor", "trace-length", "record"})
            take_attribute(event, use_, name);
        take_binary(event, use_);
        const Attribute* prefix = use_.attribute("prefix");
        if (prefix && prefix->valid) prepend(event, *prefix);
        if (const Element* scope = use_.child("scope")) {
            std::erase_if(event.children,
                          [](const Element& child) { return child.spec->name == "scope"; });
            event.children.push_back(*scope);
        }
    }

    void prepend(Element& event, const Attribute& prefix) {
        for (Attribute& attribute : event.attributes) {
            if (attribute.spec->name != "name") continue;
            attribute.text = prefix.text + attribute.text;
            attribute.place = prefix.place;
            if (const auto wrong = check_value(*attribute.spec, attribute.text, attribute.number)) {
                attribute.valid = false;
                diagnostics_.add(
                    prefix.place,
                    fmt::format("this makes an event name {}", in_quotes(attribute.text)),
                    wrong->allowed);
            }
        }
    }

    const Element& use_;
    Diagnostics& diagnostics_;
};

}  // namespace

std::optional<UsedPreset> use_preset(const Element& use, Diagnostics& diagnostics) {
    return PresetUse(use, diagnostics).build();
}

}  // namespace lagtrap::settings
