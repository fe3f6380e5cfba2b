#include "settings/event_builder.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <boost/json/object.hpp>
#include <fmt/core.h>

#include "settings/marker_builder.hpp"
#include "settings/scope_builder.hpp"
#include "settings/short_forms.hpp"
#include "settings/threshold_rule.hpp"
#include "settings/traces_of_event.hpp"
#include "settings/values.hpp"

namespace lagtrap::settings {
namespace {

// Default limit, in trace lengths, for a recording that waits for its run to end.
constexpr std::uint64_t usual_limit_factor = 4;

class EventBuilder {
  public:
    EventBuilder(const Element& element, MachineSources& sources, Diagnostics& diagnostics)
        : element_(element),
          sources_(sources),
          diagnostics_(diagnostics),
          markers_(element, sources, diagnostics) {}

    Event build() {
        event_.name = element_.text_of("name");
        build_threshold();
        build_trace_length();
        event_.copies = element_.text_of("copies") != "none";
        event_.breach =
            element_.text_of("breach") == "end" ? BreachMode::End : BreachMode::Deadline;
        if (const Element* scope = element_.child("scope"))
            event_.scope = build_scope(*scope, sources_, diagnostics_);
        const Element* key = element_.child("key");
        if (key || markers_have_keys()) event_.key = KeyKind::Argument;
        if (key)
            event_.key_scope =
                key->text_of("scope") == "machine" ? KeyScope::Machine : KeyScope::Process;
        build_recording();
        build_form();
        check_stage_names();
        build_nesting();
        if (element_.child("run-queue")) check_run_queue();
        if (const Element* calls = element_.child("calls")) build_calls(*calls);
        if (const Element* functions = element_.child("functions"))
            build_functions(*functions, event_, diagnostics_);
        for (const Element* object : element_.children_of("object"))
            build_object(*object, event_, diagnostics_);
        return std::move(event_);
    }

  private:
    void build_threshold() {
        const auto duration_of = [&](const char* name) {
            return std::chrono::nanoseconds(static_cast<std::int64_t>(element_.number_of(name)));
        };
        event_.threshold = duration_of("threshold");
        const Attribute* floor = element_.attribute("threshold-floor");
        event_.threshold_rule = threshold_rule_of(element_.text_of("threshold"));
        if (event_.threshold_rule && floor && floor->valid)
            event_.threshold_rule->floor = duration_of("threshold-floor");
        const Attribute* threshold = element_.attribute("threshold");
        if (floor && threshold && threshold->valid && !event_.threshold_rule)
            diagnostics_.add(
                floor->place, "a threshold-floor for a fixed threshold", "expected none",
                "it limits threshold=\"auto\" and percentiles such as threshold=\"p99.9 x 3\"");
    }

    void build_trace_length() {
        const Attribute* length = element_.attribute("trace-length");
        if (!length) {
            event_.trace_length =
                default_trace_length(event_.threshold, event_.threshold_rule.has_value());
            event_.trace_length_limit = event_.trace_length * usual_limit_factor;
            return;
        }
        if (!length->valid) return;
        const std::uint64_t usual =
            std::min(length->number * usual_limit_factor, length->spec->high);
        event_.trace_length = std::chrono::nanoseconds(static_cast<std::int64_t>(length->number));
        event_.trace_length_limit = std::chrono::nanoseconds(
            static_cast<std::int64_t>(longest_of_range(length->text).value_or(usual)));
    }

    void build_recording() {
        if (element_.text_of("record") == "runs") event_.record = RecordMode::Runs;
        if (element_.text_of("stacks") == "markers") event_.stacks = StackMode::Markers;
        event_.cold.first_of_process = element_.text_of("cold") == "first-of-process";
        if (const Attribute* after = element_.attribute("cold-after"); after && after->valid)
            event_.cold.after = std::chrono::nanoseconds(static_cast<std::int64_t>(after->number));
        const Attribute* record = element_.attribute("record");
        if (event_.record == RecordMode::Runs || !record || !record->valid) return;
        for (const std::string_view name : {"stacks", "cold", "cold-after"})
            refuse_without_runs(name);
        const Element* library = element_.child("library");
        for (const Element* stage :
             library ? library->children_of("stage") : element_.children_of("stage"))
            if (stage->text_of("expected") == "yes") refuse_expected_without_runs(*stage);
    }

    void refuse_without_runs(std::string_view name) {
        const Attribute* attribute = element_.attribute(name);
        if (!attribute || !attribute->given || !attribute->valid) return;
        diagnostics_.add(attribute->place,
                         fmt::format("{} in {}, whose runs are not recorded", name, event_text()),
                         fmt::format("expected record=\"runs\" with {}", name));
    }

    void refuse_expected_without_runs(const Element& stage) {
        diagnostics_.add(
            stage.attribute("expected")->place,
            fmt::format("an expected stage in {}, whose runs are not recorded", event_text()),
            "expected record=\"runs\" in the event");
    }

    // An event has one of four forms: <begin> and <end>, <function>, <library>, <run-queue>.
    void build_form() {
        const Element* begin = element_.child("begin");
        const Element* end = element_.child("end");
        const Element* function = element_.child("function");
        const Element* library = element_.child("library");
        const Element* queue = element_.child("run-queue");
        const Element* alone = function ? function : library ? library : queue;
        if (alone) refuse_beside(*alone);
        if (library) return build_library(*library);
        if (queue && !function) return build_run_queue(*queue);
        if (function) {
            build_function(*function);
        } else {
            constexpr const char* forms =
                "expected <begin> and <end>, <usdt>, <function>, <header>, or <run-queue>";
            if (!begin && !end)
                diagnostics_.add(element_.place, event_text() + " has no markers", forms);
            if (begin && !end)
                diagnostics_.add(element_.place, event_text() + " has a <begin> but no <end>",
                                 forms);
            if (end && !begin)
                diagnostics_.add(element_.place, event_text() + " has an <end> but no <begin>",
                                 forms);
            if (begin) build_begin(*begin);
            if (end) build_ends(*end);
        }
        for (const Element* stage : element_.children_of("stage"))
            event_.stages.push_back({std::string(stage->text_of("name")),
                                     markers_.marker(*stage).marker,
                                     stage->text_of("expected") == "yes"});
        if (begin && end && !alone) {
            refuse_same_marker(*end);
            check_keys();
        }
    }

    void build_begin(const Element& begin) {
        MarkerSource built = markers_.marker(begin);
        event_.begin = std::move(built.marker);
        event_.begin_time = built.begin_time;
        event_.trace_id = built.trace_id;
    }

    // `first` is the first <end>.
    void build_ends(const Element& first) {
        event_.end = markers_.marker(first).marker;
        if (first.text_of("as") != "done")
            diagnostics_.add(first.attribute("as")->place,
                             fmt::format("the first <end> of {} has as", event_text()),
                             "expected none: the first <end> means done",
                             "put as=\"failed\" and as=\"cancelled\" on further ends");
        for (const Element* other : element_.children_of("end"))
            if (other != &first) build_other_end(*other);
    }

    void build_other_end(const Element& element) {
        const std::string_view as = element.text_of("as");
        OtherEnd other{markers_.marker(element).marker,
                       as == "cancelled" ? EndMeaning::Cancelled : EndMeaning::Failed};
        if (as == "done")
            diagnostics_.add(element.place,
                             fmt::format("a second <end> of {} with as=\"done\"", event_text()),
                             "expected as=\"failed\" or as=\"cancelled\"");
        else if (other.marker.binary != event_.end.binary)
            diagnostics_.add(element.place,
                             fmt::format("the ends of {} are in two programs", event_text()),
                             "expected all ends in the same program, or in the kernel");
        event_.other_ends.push_back(std::move(other));
    }

    // Reports elements that cannot be combined with <function>, <library> or <run-queue>.
    void refuse_beside(const Element& alone) {
        const std::string name(alone.spec->name);
        for (const Element& child : element_.children) {
            const std::string_view other = child.spec->name;
            const bool begins_or_ends = other == "begin" || other == "end" ||
                                        (other == "library" && name == "function") ||
                                        (other == "run-queue" && name != "run-queue");
            const bool stage_of_library = other == "stage" && name == "library";
            if (begins_or_ends)
                diagnostics_.add(
                    child.place, fmt::format("<{}> and <{}> in {}", other, name, event_text()),
                    "expected <begin> and <end>, <function>, <library>, or <run-queue>");
            if (stage_of_library)
                diagnostics_.add(child.place,
                                 fmt::format("<stage> with <library> in {}", event_text()),
                                 "expected the stages inside <library>");
        }
    }

    void build_function(const Element& function) {
        event_.begin = event_.end = markers_.function(function);
        event_.end.side = FunctionSide::Return;
        if (const Element* key = element_.child("key"))
            diagnostics_.add(
                key->place, fmt::format("<key> with <function> in {}", event_text()),
                "expected no <key>: calls of a function are paired by thread",
                "to pair two functions by key, use <begin function=... key=...> and <end .../>");
        for (const Element* stage : element_.children_of("stage"))
            if (const Attribute* key = stage->attribute("key"))
                diagnostics_.add(key->place, "key on a <stage> with <function>",
                                 "expected no key: calls of a function are paired by thread");
    }

    void build_calls(const Element& calls) {
        if (!element_.child("function")) {
            diagnostics_.add(calls.place,
                             fmt::format("<calls> in {}, which has no <function>", event_text()),
                             "expected <calls> with <function>",
                             "a tree of calls starts with the call of one function");
            return;
        }
        RecordedCalls& recorded = event_.calls.emplace();
        recorded.depth = static_cast<std::uint32_t>(calls.number_of("depth"));
        recorded.match = calls.text_of("match");
        recorded.share_ppm = calls.number_of("share");
        for (MarkerSource& source : sources_.markers)
            if (source.each_call &&
                source.name_place == place_of(*element_.child("function"), "name"))
                source.calls_place = calls.place;
    }

    void build_library(const Element& library) {
        event_.begin_time = ArgumentRef{1, {}, {}};
        event_.begin = markers_.library(library, library, "begin");
        event_.end = markers_.library(library, library, "end");
        for (const Element* stage : library.children_of("stage")) {
            const std::string name(stage->text_of("name"));
            event_.stages.push_back({name, markers_.library(library, *stage, "stage__" + name),
                                     stage->text_of("expected") == "yes"});
        }
    }

    void build_run_queue(const Element& queue) {
        event_.begin.kind = event_.end.kind = MarkerKind::RunQueue;
        event_.begin.name = "begins";
        event_.end.name = "ends";
        set_place(event_.begin, queue.place);
        set_place(event_.end, queue.place);
    }

    // The key is the waiting thread, which does not run at the markers and cannot provide other
    // values.
    void check_run_queue() {
        for (const std::string_view name : {"key", "stage"})
            if (const Element* other = element_.child(name))
                diagnostics_.add(other->place,
                                 fmt::format("<{}> with <run-queue> in {}", name, event_text()),
                                 fmt::format("expected no <{}>: waits for a CPU have none", name));
        for (const std::string_view name : {"nesting", "binary"})
            if (const Attribute* other = element_.attribute(name); other && other->given)
                diagnostics_.add(
                    other->place,
                    fmt::format("{} in {}, which has <run-queue>", name, event_text()),
                    fmt::format("expected no {} with <run-queue>", name),
                    name == "binary" ? "<scope binary=\"...\"/> selects the program" : "");
        if (event_.record == RecordMode::Runs)
            diagnostics_.add(
                element_.attribute("record")->place,
                fmt::format("record=\"runs\" in {}, which has <run-queue>", event_text()),
                "expected record=\"delays\": there are too many waits to keep each one");
    }

    [[nodiscard]] bool markers_have_keys() const {
        return std::any_of(element_.children.begin(), element_.children.end(),
                           [](const Element& child) { return child.attribute("key") != nullptr; });
    }

    // A key belongs on all markers or on none.
    void check_keys() {
        std::vector<const Element*> with;
        std::vector<const Element*> without;
        for (const Element& child : element_.children) {
            const std::string_view name = child.spec->name;
            if (name != "begin" && name != "stage" && name != "end") continue;
            (child.attribute("key") ? with : without).push_back(&child);
        }
        const Element* key = element_.child("key");
        if (with.empty() && key)
            diagnostics_.add(key->place,
                             fmt::format("<key> in {}, whose markers have none", event_text()),
                             "expected key=\"...\" on each of its markers");
        if (with.empty()) return;
        for (const Element* element : without)
            diagnostics_.add(element->place,
                             fmt::format("<{}> has no key, but <{}> has one", element->spec->name,
                                         with.front()->spec->name),
                             "expected key=\"...\" on every marker of the event, or on none");
    }

    void refuse_same_marker(const Element& end) {
        const Marker& a = event_.begin;
        const Marker& b = event_.end;
        const bool same = a.kind == b.kind && a.binary == b.binary && a.provider == b.provider &&
                          a.name == b.name && a.side == b.side;
        if (!same || a.name.empty()) return;
        diagnostics_.add(
            end.place, fmt::format("begin and end of {} are the same marker", event_text()),
            "expected two different markers",
            a.kind == MarkerKind::Function ? "<function name=\"...\"/> makes each call a run" : "");
    }

    void check_stage_names() {
        std::map<std::string_view, Place> names;
        const Element* library = element_.child("library");
        const auto stages = library ? library->children_of("stage") : element_.children_of("stage");
        for (const Element* stage : stages) {
            const Attribute* name = stage->attribute("name");
            if (!name || !name->valid) continue;
            const auto [first, is_new] = names.emplace(name->text, name->place);
            if (!is_new)
                diagnostics_.add(
                    name->place,
                    fmt::format("a second stage {} in {}", in_quotes(name->text), event_text()),
                    "expected unique stage names",
                    fmt::format("the first is at line {}", first->second.line));
        }
    }

    void build_nesting() {
        const std::string_view nesting = element_.text_of("nesting");
        const MarkerKind kind = event_.begin.kind;
        event_.nesting = kind == MarkerKind::Function || kind == MarkerKind::Library
                             ? Nesting::Each
                             : Nesting::Restart;
        if (nesting == "each") event_.nesting = Nesting::Each;
        if (nesting == "outermost") event_.nesting = Nesting::Outermost;
        if (nesting == "restart") event_.nesting = Nesting::Restart;
    }

    [[nodiscard]] std::string event_text() const { return text_of(event_); }

    const Element& element_;
    MachineSources& sources_;
    Diagnostics& diagnostics_;
    MarkerBuilder markers_;
    Event event_;
};

}  // namespace

Event build_event(const Element& element, MachineSources& sources, Diagnostics& diagnostics) {
    const Element long_form = with_long_forms(element, diagnostics);
    return EventBuilder(long_form, sources, diagnostics).build();
}

}  // namespace lagtrap::settings
