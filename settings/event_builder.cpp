#include "settings/event_builder.hpp"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>

#include <boost/json/object.hpp>
#include <fmt/core.h>

#include "settings/short_forms.hpp"
#include "settings/threshold_rule.hpp"
#include "settings/traces_of_event.hpp"
#include "settings/values.hpp"

namespace lagtrap::settings {
namespace {

// Default limit, in trace lengths, for a recording that waits for its run to end.
constexpr std::uint64_t usual_limit_factor = 4;

// The uid, from digits or from the machine's user database.
std::optional<std::uint32_t> find_uid(const std::string& user) {
    std::uint32_t uid = 0;
    const char* end = user.data() + user.size();
    const auto [rest, failure] = std::from_chars(user.data(), end, uid);
    if (failure == std::errc{} && rest == end && uid != unknown_uid) return uid;
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer;
    if (getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return {};
    return found->pw_uid;
}

class EventBuilder {
  public:
    EventBuilder(const Element& element, MachineSources& sources, Diagnostics& diagnostics)
        : element_(element), sources_(sources), diagnostics_(diagnostics) {}

    Event build() {
        event_.name = element_.text_of("name");
        build_threshold();
        build_trace_length();
        event_.copies = element_.text_of("copies") != "none";
        event_.breach =
            element_.text_of("breach") == "end" ? BreachMode::End : BreachMode::Deadline;
        if (const Element* scope = element_.child("scope")) build_scope(*scope);
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

    void build_scope(const Element& scope) {
        if (scope.attribute("pid"))
            event_.scope.pid = static_cast<std::uint32_t>(scope.number_of("pid"));
        event_.scope.descendants = scope.text_of("descendants") == "yes";
        if (event_.scope.descendants && !scope.attribute("pid"))
            diagnostics_.add(scope.attribute("descendants")->place,
                             "descendants in a <scope> without pid",
                             "expected pid=\"NUMBER\" with descendants");
        event_.scope.binary = scope.text_of("binary");
        event_.scope.groups = {
            std::string(scope.text_of("unit")),      std::string(scope.text_of("control-group")),
            std::string(scope.text_of("container")), std::string(scope.text_of("image")),
            std::string(scope.text_of("pod")),       std::string(scope.text_of("namespace")),
            std::string(scope.text_of("label"))};
        if (const Attribute* binary = scope.attribute("binary"); binary && binary->valid)
            sources_.scopes.push_back({binary->text, binary->place});
        const Attribute* user = scope.attribute("user");
        if (!user || !user->valid) return;
        const auto uid = find_uid(user->text);
        if (!uid) sources_.unknown_users.push_back({user->text, user->place});
        event_.scope.uid = uid.value_or(unknown_uid);
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
            if (begin) event_.begin = build_marker(*begin);
            if (end) build_ends(*end);
        }
        for (const Element* stage : element_.children_of("stage"))
            event_.stages.push_back({std::string(stage->text_of("name")), build_marker(*stage),
                                     stage->text_of("expected") == "yes"});
        if (begin && end && !alone) {
            refuse_same_marker(*end);
            check_keys();
        }
    }

    // `first` is the first <end>.
    void build_ends(const Element& first) {
        event_.end = build_marker(first);
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
        OtherEnd other{build_marker(element),
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
        MarkerSource source;
        Marker& marker = source.marker;
        marker.kind = MarkerKind::Function;
        marker.name = function.text_of("name");
        const bool found = find_binary(function, source);
        set_place(marker, function.place);
        source.name_place = place_of(function, "name");
        source.each_call = true;
        event_.begin = marker;
        event_.end = marker;
        event_.end.side = FunctionSide::Return;
        if (found && is_valid(function)) sources_.markers.push_back(source);
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
        event_.begin = build_library_marker(library, library, "begin");
        event_.end = build_library_marker(library, library, "end");
        for (const Element* stage : library.children_of("stage")) {
            const std::string name(stage->text_of("name"));
            event_.stages.push_back({name, build_library_marker(library, *stage, "stage__" + name),
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

    Marker build_library_marker(const Element& library, const Element& place,
                                const std::string& point) {
        MarkerSource source;
        Marker& marker = source.marker;
        marker.kind = MarkerKind::Library;
        marker.provider = "lagtrap";
        marker.name = event_.name + "__" + point;
        const Attribute* const given = library.attribute("event");
        if (given) marker.name = given->text + "__" + point;
        const bool first = point == "begin";  // so that a missing binary is reported once
        const bool found = first ? find_binary(library, source) : inherit_binary(library, source);
        set_place(marker, place.place);
        source.name_place = place.place;
        if (const Element* key = element_.child("key")) {
            marker.key = ArgumentRef{0, {}, {}};
            source.key_place = key->place;
        }
        if (first) {
            source.begin_time = event_.begin_time;
            source.begin_time_place = place.place;
        }
        if (found && is_valid(element_, "name") && is_valid(place))
            sources_.markers.push_back(source);
        return marker;
    }

    // Builds a marker from <begin>, <stage> or <end>.
    Marker build_marker(const Element& element) {
        MarkerSource source;
        Marker& marker = source.marker;
        set_place(marker, element.place);
        bool good = is_valid(element);
        const Attribute* name = find_name(element);
        if (!name) return marker;
        source.name_place = name->place;
        good = set_name(*name, marker) && good;
        if (element.text_of("side") == "return") marker.side = FunctionSide::Return;
        if (marker.kind != MarkerKind::Function && element.attribute("side")->given) {
            const Attribute* side = element.attribute("side");
            diagnostics_.add(side->place, fmt::format("side with {}", name->spec->name),
                             "expected side only with function");
        }
        if (marker.kind != MarkerKind::Tracepoint) {
            good = find_binary(element, source) && good;
        } else if (const Attribute* binary = element.attribute("binary")) {
            diagnostics_.add(binary->place, "binary with tracepoint",
                             "expected none: tracepoints belong to the kernel");
        }
        marker.key = build_argument(element, "key", marker, source.key_place);
        source.begin_time = build_argument(element, "begin-time", marker, source.begin_time_place);
        source.trace_id = build_argument(element, "trace-id", marker, source.trace_id_place);
        if (source.trace_id && marker.kind == MarkerKind::Tracepoint)
            diagnostics_.add(source.trace_id_place, "trace-id with tracepoint",
                             "expected usdt or function");
        if (element.spec->name == "begin") {
            event_.begin_time = source.begin_time;
            event_.trace_id = source.trace_id;
        }
        if (good) sources_.markers.push_back(source);
        return marker;
    }

    // The one attribute that names the marker. Reports an error and returns nullptr if there are
    // none or several.
    const Attribute* find_name(const Element& element) {
        const Attribute* found = nullptr;
        for (const std::string_view kind : {"usdt", "function", "tracepoint"}) {
            const Attribute* attribute = element.attribute(kind);
            if (attribute && found) {
                diagnostics_.add(
                    attribute->place,
                    fmt::format("<{}> has {} and {}", element.spec->name, found->spec->name, kind),
                    "expected one of usdt, function, tracepoint");
                return nullptr;
            }
            if (attribute) found = attribute;
        }
        if (!found)
            diagnostics_.add(element.place, fmt::format("<{}> names no marker", element.spec->name),
                             "expected usdt=\"PROVIDER:NAME\", function=\"NAME\" or "
                             "tracepoint=\"CATEGORY:NAME\"");
        return found;
    }

    static bool set_name(const Attribute& name, Marker& marker) {
        marker.kind = name.spec->name == "usdt"       ? MarkerKind::Usdt
                      : name.spec->name == "function" ? MarkerKind::Function
                                                      : MarkerKind::Tracepoint;
        marker.name = name.text;
        if (marker.kind == MarkerKind::Function || !name.valid) return name.valid;
        const std::size_t colon = name.text.find(':');
        marker.provider = name.text.substr(0, colon);
        marker.name = name.text.substr(colon + 1);
        return true;
    }

    // Sets the marker's own binary, or else the event's.
    bool inherit_binary(const Element& element, MarkerSource& source) {
        const Attribute* binary = element.attribute("binary");
        if (!binary) binary = element_.attribute("binary");
        if (!binary) return false;
        source.marker.binary = binary->text;
        source.binary_place = binary->place;
        return binary->valid;
    }

    bool find_binary(const Element& element, MarkerSource& source) {
        const bool usable = inherit_binary(element, source);
        if (!usable && source.marker.binary.empty() && !element.attribute("binary") &&
            !element_.attribute("binary"))
            diagnostics_.add(element.place, fmt::format("<{}> has no binary", element.spec->name),
                             "expected binary=\"/PATH\" here, or in <event> for all its markers");
        return usable;
    }

    static ArgumentRef field_of(const std::string& text) {
        const std::size_t comma = text.find(',');
        if (comma == std::string::npos) return {0, text, {}};
        return {0, text.substr(0, comma), text.substr(comma + 1)};
    }

    // The value that attribute `name` refers to; nullopt if the attribute is missing or invalid.
    std::optional<ArgumentRef> build_argument(const Element& element, std::string_view name,
                                              const Marker& marker, Place& place) {
        const Attribute* attribute = element.attribute(name);
        if (!attribute) return {};
        place = attribute->place;
        if (!attribute->valid) return {};
        if (marker.kind == MarkerKind::Tracepoint) return field_of(attribute->text);
        const std::uint32_t count =
            marker.kind == MarkerKind::Usdt ? usdt_arguments : function_arguments;
        const auto index = argument_number(attribute->text);
        if (!index || *index >= count) {
            diagnostics_.add(
                place, fmt::format("{} is {}", name, in_quotes(attribute->text)),
                fmt::format("expected arg0 to arg{} for a {}", count - 1,
                            marker.kind == MarkerKind::Usdt ? "USDT probe" : "function"),
                index ? "" : "field names are for tracepoints");
            return {};
        }
        if (marker.side == FunctionSide::Return) {
            diagnostics_.add(place, fmt::format("{} with side=\"return\"", name),
                             "expected none: a function's parameters are gone when it returns");
            return {};
        }
        return ArgumentRef{*index, {}, {}};
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

    static bool is_valid(const Element& element) {
        for (const Attribute& attribute : element.attributes)
            if (!attribute.valid) return false;
        for (const AttributeSpec& spec : element.spec->attributes)
            if (spec.presence == Presence::Required && !element.attribute(spec.name)) return false;
        return true;
    }

    static bool is_valid(const Element& element, std::string_view name) {
        const Attribute* attribute = element.attribute(name);
        return attribute && attribute->valid;
    }

    static Place place_of(const Element& element, std::string_view name) {
        const Attribute* attribute = element.attribute(name);
        return attribute ? attribute->place : element.place;
    }

    static void set_place(Marker& marker, Place place) {
        marker.line = place.line;
        marker.column = place.column;
    }

    [[nodiscard]] std::string event_text() const { return text_of(event_); }

    const Element& element_;
    MachineSources& sources_;
    Diagnostics& diagnostics_;
    Event event_;
};

}  // namespace

Event build_event(const Element& element, MachineSources& sources, Diagnostics& diagnostics) {
    const Element long_form = with_long_forms(element, diagnostics);
    return EventBuilder(long_form, sources, diagnostics).build();
}

}  // namespace lagtrap::settings
