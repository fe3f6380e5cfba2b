#include "settings/build.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "settings/event_builder.hpp"
#include "settings/preset_use.hpp"
#include "settings/url.hpp"
#include "settings/values.hpp"

namespace lagtrap::settings {
namespace {

std::chrono::nanoseconds duration_of(const Element& element, std::string_view name) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(element.number_of(name)));
}

Recording build_recording(const Element& element) {
    Recording recording;
    recording.sample_interval = duration_of(element, "sample-interval");
    recording.cool_down = duration_of(element, "cool-down");
    recording.captures_per_hour =
        static_cast<std::uint32_t>(element.number_of("captures-per-hour"));
    recording.capture_size_limit_bytes = element.number_of("capture-size-limit");
    recording.merge_limit = duration_of(element, "merge-limit");
    recording.stack_copies_bytes = element.number_of("stack-copies");
    recording.scheduling = element.text_of("scheduling") == "yes";
    return recording;
}

AutoThreshold build_auto_threshold(const Element& element) {
    return AutoThreshold{duration_of(element, "floor"),
                         static_cast<std::uint32_t>(element.number_of("min-runs")),
                         duration_of(element, "learn"), duration_of(element, "quiet"),
                         static_cast<std::uint32_t>(element.number_of("captures-per-day"))};
}

Unwinding build_unwinding(const Element& element) {
    return Unwinding{element.number_of("memory"), std::string(element.text_of("cache")),
                     element.number_of("cache-limit")};
}

Runs build_runs(const Element& element) {
    return Runs{duration_of(element, "batch-interval"), element.number_of("batch-size"),
                static_cast<std::uint32_t>(element.number_of("limit-per-second"))};
}

Budget build_budget(const Element& element) {
    static const std::map<std::string_view, BudgetPart> kinds{
        {"switches", BudgetPart::Switches}, {"samples", BudgetPart::Samples},
        {"history", BudgetPart::History},   {"times", BudgetPart::Times},
        {"stacks", BudgetPart::Stacks},     {"stages", BudgetPart::Stages},
        {"events", BudgetPart::Events}};
    Budget budget{element.number_of("share"),
                  element.number_of("recording-share"),
                  duration_of(element, "interval"),
                  {},
                  duration_of(element, "pause"),
                  element.attribute("open-runs") ? element.number_of("open-runs") : 0};
    for (const std::string& word : words_of(element.text_of("disable")))
        if (const auto kind = kinds.find(word); kind != kinds.end())
            budget.disable.push_back(kind->second);
    return budget;
}

History build_history(const Element& element) {
    return History{duration_of(element, "length"), duration_of(element, "sample-interval"),
                   element.number_of("early-share"), element.text_of("times") == "yes"};
}

Context build_context(const Element& element) {
    const std::string_view attributes = element.text_of("attributes");
    return Context{element.text_of("read") == "yes",
                   attributes == "none" ? std::vector<std::string>{} : words_of(attributes)};
}

Spool build_spool(const Element& element) {
    return Spool{std::string(element.text_of("path")), element.number_of("size-limit"),
                 duration_of(element, "age-limit"), duration_of(element, "keep-sent-runs")};
}

Upload build_upload(const Element& element, Diagnostics& diagnostics) {
    Upload upload;
    upload.url = element.text_of("url");
    upload.token_file = element.text_of("token-file");
    upload.ca_file = element.text_of("ca-file");
    upload.proxy = element.text_of("proxy");
    upload.timeout = duration_of(element, "timeout");
    const Attribute* url = element.attribute("url");
    const bool open_text = url && url->valid && upload.url.starts_with("http://");
    if (open_text && element.text_of("allow-http") != "yes" &&
        !is_loopback(host_of_url(upload.url)))
        diagnostics.add(url->place,
                        fmt::format("url is {}, which is not encrypted", in_quotes(upload.url)),
                        "expected https://, or a server on this machine",
                        "allow-http=\"yes\" sends data and token unencrypted");
    return upload;
}

// nullopt if it is the default, which the packages create.
std::optional<FileSource> given_path(const Element& element, std::string_view name) {
    const Attribute* path = element.attribute(name);
    if (!path || !path->given || !path->valid) return std::nullopt;
    return FileSource{path->text, path->place};
}

CommandLines command_lines_of(std::string_view text) {
    if (text == "all") return CommandLines::All;
    return text == "program" ? CommandLines::Program : CommandLines::Masked;
}

Callers callers_of(std::string_view text) {
    if (text == "anyone") return Callers::Anyone;
    return text == "root" ? Callers::Root : Callers::Group;
}

Control build_control(const Element& element, MachineSources& sources) {
    const Attribute* group = element.attribute("group");
    if (group && group->valid) sources.groups.push_back({group->text, group->place});
    sources.socket = given_path(element, "socket");
    return Control{std::string(element.text_of("socket")), std::string(element.text_of("group")),
                   callers_of(element.text_of("read")), callers_of(element.text_of("change")),
                   callers_of(element.text_of("trace"))};
}

// Builds all events, from the file and from presets, in the order of the file.
class EventsBuilder {
  public:
    EventsBuilder(Built& built, Diagnostics& diagnostics)
        : built_(built), diagnostics_(diagnostics) {}

    void build(const Element& root) {
        for (const Element& child : root.children) {
            if (child.spec->name == "event") add(child);
            if (child.spec->name == "use") add_preset(child);
        }
    }

  private:
    void add(const Element& element) {
        check_name(element);
        std::vector<Event>& events = built_.settings.events;
        events.push_back(build_event(element, built_.sources, diagnostics_));
        if (events.size() == events_limit + 1)
            diagnostics_.add(element.place, fmt::format("this makes {} events", events.size()),
                             fmt::format("expected at most {}", events_limit));
        const std::size_t before = std::exchange(
            markers_, markers_ + 2 + events.back().stages.size() + events.back().other_ends.size());
        if (before <= markers_limit && markers_ > markers_limit)
            diagnostics_.add(
                element.place, fmt::format("this event makes {} markers", markers_),
                fmt::format("expected at most {} in all events together", markers_limit),
                "each event has a begin and an end, and one for each stage");
        const Element* queue = element.child("run-queue");
        if (queue && ++run_queue_events_ == run_queue_events_limit + 1)
            diagnostics_.add(
                from_preset_ ? element.place : queue->place,
                fmt::format("this makes {} events with <run-queue>", run_queue_events_),
                fmt::format("expected at most {}", run_queue_events_limit),
                "a pattern in <scope> covers many units with one event");
        count_tracepoints(element.place, events.back());
    }

    void count_tracepoints(Place place, const Event& event) {
        const auto count = [&](const Marker& marker) {
            if (marker.kind != MarkerKind::Tracepoint) return;
            const std::string name = marker.provider + ":" + marker.name;
            if (++tracepoints_[name] == tracepoint_markers_limit + 1)
                diagnostics_.add(place,
                                 fmt::format("this makes {} markers on the tracepoint {}",
                                             tracepoints_[name], name),
                                 fmt::format("expected at most {} in all events together",
                                             tracepoint_markers_limit),
                                 "a pattern in <scope> covers many units with one event");
        };
        count(event.begin);
        count(event.end);
        for (const Stage& stage : event.stages) count(stage.marker);
        for (const OtherEnd& end : event.other_ends) count(end.marker);
    }

    void check_name(const Element& element) {
        const Attribute* name = element.attribute("name");
        if (!name || !name->valid) return;
        const auto [first, is_new] = names_.emplace(name->text, name->place);
        if (is_new) return;
        diagnostics_.add(name->place, fmt::format("a second event {}", in_quotes(name->text)),
                         "expected unique event names",
                         fmt::format("the first is at line {}{}", first->second.line,
                                     from_preset_ ? "; prefix=\"...\" gives others" : ""));
    }

    void add_preset(const Element& use) {
        const auto used = use_preset(use, diagnostics_);
        if (!used) return;
        std::vector<MarkerSource>& markers = built_.sources.markers;
        const auto own_markers = static_cast<std::ptrdiff_t>(markers.size());
        from_preset_ = true;
        for (const Element& event : used->events) add(event);
        from_preset_ = false;
        PresetSource source{
            used->preset.name, used->preset.tried_with, used->preset.programs, use.place, {}};
        source.markers.assign(markers.begin() + own_markers, markers.end());
        markers.erase(markers.begin() + own_markers, markers.end());
        built_.sources.presets.push_back(std::move(source));
    }

    Built& built_;
    Diagnostics& diagnostics_;
    std::map<std::string, Place> names_;
    std::size_t markers_ = 0;
    std::size_t run_queue_events_ = 0;
    std::map<std::string, std::size_t> tracepoints_;  // markers on each
    bool from_preset_ = false;
};

}  // namespace

Built build_settings(const Element& root, Diagnostics& diagnostics) {
    Built built;
    Settings& settings = built.settings;
    if (const Element* element = root.child("recording"))
        settings.recording = build_recording(*element);
    if (const Element* element = root.child("auto-threshold"))
        settings.auto_threshold = build_auto_threshold(*element);
    if (const Element* element = root.child("unwinding"))
        settings.unwinding = build_unwinding(*element);
    if (const Element* element = root.child("runs")) settings.runs = build_runs(*element);
    if (const Element* element = root.child("budget")) settings.budget = build_budget(*element);
    if (const Element* element = root.child("history")) settings.history = build_history(*element);
    if (const Element* element = root.child("confirm"))
        settings.confirm = Confirm{duration_of(*element, "wait")};
    if (const Element* element = root.child("context")) settings.context = build_context(*element);
    if (const Element* element = root.child("privacy"))
        settings.privacy.command_lines = command_lines_of(element->text_of("command-lines"));
    if (const Element* element = root.child("spool")) {
        settings.spool = build_spool(*element);
        built.sources.spool = given_path(*element, "path");
    }
    if (const Element* element = root.child("upload"))
        settings.upload = build_upload(*element, diagnostics);
    if (const Element* element = root.child("otlp"))
        settings.otlp = build_upload(*element, diagnostics);
    if (const Element* element = root.child("control"))
        settings.control = build_control(*element, built.sources);
    EventsBuilder(built, diagnostics).build(root);
    return built;
}

}  // namespace lagtrap::settings
