#include "settings/event_builder.hpp"

#include <array>

#include <gmock/gmock.h>

#include "tests/unit/settings/files.hpp"
#include "tests/unit/settings/marker_sources.hpp"

namespace lagtrap::settings::event_builder_test {
namespace {

using namespace testing_files;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

struct BuiltEvent {
    Event event;
    MachineSources sources;
    std::vector<std::string> problems;
};

BuiltEvent built(const std::string& body, const std::string& attributes = "binary='/app'") {
    const std::string text = testing_files::event(body, attributes);
    const LineIndex index(text);
    Diagnostics diagnostics;
    const Element root = read_document(index, diagnostics).value();
    BuiltEvent result;
    result.event = build_event(*root.child("event"), result.sources, diagnostics);
    result.problems = testing_sources::problems_in(diagnostics);
    return result;
}

// The event of a body without errors.
Event good(const std::string& body, const std::string& attributes = "binary='/app'") {
    BuiltEvent result = built(body, attributes);
    EXPECT_THAT(result.problems, IsEmpty()) << body;
    return std::move(result.event);
}

std::string text_of(Place place) {
    return std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string text_of(const std::optional<ArgumentRef>& argument, const char* name, Place place) {
    if (!argument) return {};
    const std::string value =
        argument->field.empty() ? std::to_string(argument->index) : argument->field;
    const std::string second =
        argument->second_field.empty() ? std::string() : "," + argument->second_field;
    return std::string(" ") + name + "=" + value + second + "@" + text_of(place);
}

// "function f of /app@1:2 at 3:4 (3:1)": the marker, and the places that errors point at.
std::string text_of(const MarkerSource& source) {
    constexpr std::array kinds{"usdt", "function", "tracepoint", "library", "queue"};
    const Marker& marker = source.marker;
    std::string text = kinds.at(static_cast<std::size_t>(marker.kind)) + std::string(" ");
    if (!marker.provider.empty()) text += marker.provider + ":";
    text += marker.name;
    if (marker.side == FunctionSide::Return) text += " return";
    if (!marker.binary.empty()) text += " of " + marker.binary + "@" + text_of(source.binary_place);
    text += " at " + text_of(source.name_place);
    text += " (" + text_of(Place{marker.line, marker.column}) + ")";
    text += text_of(marker.key, "key", source.key_place);
    text += text_of(source.begin_time, "begin-time", source.begin_time_place);
    text += text_of(source.trace_id, "trace-id", source.trace_id_place);
    if (source.each_call) text += " each call";
    if (source.calls_place) text += " calls@" + text_of(*source.calls_place);
    return text;
}

std::vector<std::string> markers_of(const std::string& body,
                                    const std::string& attributes = "binary='/app'") {
    std::vector<std::string> texts;
    for (const MarkerSource& source : built(body, attributes).sources.markers)
        texts.push_back(text_of(source));
    return texts;
}

TEST(EventMarkers, AreLookedForWithTheirPlaces) {
    EXPECT_THAT(
        markers_of("<begin usdt='app:start' key='arg11' begin-time='arg1' trace-id='arg2'/>\n"
                   "<stage name='s' function='f' key='arg5' binary='/lib/f'/>\n"
                   "<end function='g' side='return'/>\n"
                   "<end usdt='app:failed' key='arg3' as='failed'/>"),
        ElementsAre("usdt app:start of /app@2:52 at 3:8 (3:1) key=11@3:25 begin-time=1@3:37 "
                    "trace-id=2@3:55",
                    "function g return of /app@2:52 at 5:6 (5:1)",
                    "usdt app:failed of /app@2:52 at 6:6 (6:1) key=3@6:24",
                    "function f of /lib/f@4:41 at 4:17 (4:1) key=5@4:30"));
    EXPECT_THAT(markers_of("<begin tracepoint='a:b' key='x,y' begin-time='z'/>\n"
                           "<end tracepoint='a:c' key='x,y'/>",
                           ""),
                ElementsAre("tracepoint a:b at 3:8 (3:1) key=x,y@3:25 begin-time=z@3:35",
                            "tracepoint a:c at 4:6 (4:1) key=x,y@4:23"));
}

TEST(EventMarkers, OfAFunctionAreOneForEachCall) {
    EXPECT_THAT(markers_of("<function name='f'/>"),
                ElementsAre("function f of /app@2:52 at 3:11 (3:1) each call"));
    EXPECT_THAT(markers_of("<function name='f' binary='/b'/>\n<stage name='s' usdt='a:b'/>\n"
                           "<calls/>"),
                ElementsAre("function f of /b@3:20 at 3:11 (3:1) each call calls@5:1",
                            "usdt a:b of /app@2:52 at 4:17 (4:1)"));
}

TEST(EventMarkers, OfTheHeaderHaveTheNamesOfTheEvent) {
    EXPECT_THAT(markers_of("<library>\n<stage name='s'/>\n</library>"),
                ElementsAre("library lagtrap:a__begin of /app@2:52 at 3:1 (3:1) begin-time=1@3:1",
                            "library lagtrap:a__end of /app@2:52 at 3:1 (3:1)",
                            "library lagtrap:a__stage__s of /app@2:52 at 4:1 (4:1)"));
    EXPECT_THAT(
        markers_of("<key/>\n<library event='job' binary='/b'><stage name='s'/></library>"),
        ElementsAre("library lagtrap:job__begin of /b@4:22 at 4:1 (4:1) key=0@3:1 begin-time=1@4:1",
                    "library lagtrap:job__end of /b@4:22 at 4:1 (4:1) key=0@3:1",
                    "library lagtrap:job__stage__s of /b@4:22 at 4:34 (4:34) key=0@3:1"));
}

TEST(EventMarkers, WithErrorsAreNotLookedFor) {
    EXPECT_THAT(markers_of("<begin usdt='wrong'/><end usdt='a:c'/>"),
                ElementsAre("usdt a:c of /app@2:52 at 3:27 (3:22)"));
    EXPECT_THAT(markers_of("<begin usdt='a:b'/><end usdt='a:c'/>", ""), IsEmpty());
    EXPECT_THAT(markers_of("<begin usdt='a:b' binary='no path'/><end usdt='a:c' binary='/b'/>"),
                ElementsAre("usdt a:c of /b@3:53 at 3:42 (3:37)"));
    EXPECT_THAT(markers_of("<function name=''/>"), IsEmpty());
    EXPECT_THAT(markers_of("<function/>"), IsEmpty());
    EXPECT_THAT(markers_of("<function name='f'/>", ""), IsEmpty());
    EXPECT_THAT(markers_of("<library><stage name='9'/></library>").size(), 2U);
    EXPECT_THAT(markers_of("<library/>", ""), IsEmpty());
    EXPECT_THAT(markers_of("<run-queue/>", ""), IsEmpty());
}

TEST(EventScope, NamesWhatTheMachineMustHave) {
    const BuiltEvent found =
        built("<function name='f'/>\n<scope user='no-such-user' binary='/usr/bin/x' pid='12'/>");
    ASSERT_EQ(found.sources.scopes.size(), 1U);
    EXPECT_EQ(found.sources.scopes[0].path, "/usr/bin/x");
    EXPECT_EQ(text_of(found.sources.scopes[0].place), "4:28");
    ASSERT_EQ(found.sources.unknown_users.size(), 1U);
    EXPECT_EQ(found.sources.unknown_users[0].name, "no-such-user");
    EXPECT_EQ(text_of(found.sources.unknown_users[0].place), "4:8");
    EXPECT_EQ(found.event.scope.uid, unknown_uid);
    EXPECT_EQ(found.event.scope.pid, 12U);
    EXPECT_EQ(found.event.scope.binary, "/usr/bin/x");
}

TEST(EventScope, AProcessMayIncludeItsDescendants) {
    EXPECT_FALSE(good("<function name='f'/><scope pid='12'/>").scope.descendants);
    EXPECT_FALSE(good("<function name='f'/><scope descendants='no'/>").scope.descendants);
    EXPECT_TRUE(good("<function name='f'/><scope pid='12' descendants='yes'/>").scope.descendants);
}

TEST(EventScope, UsersAreNumbersOrNames) {
    const auto uid = [](const std::string& user) {
        const BuiltEvent found = built("<function name='f'/><scope user='" + user + "'/>");
        EXPECT_EQ(found.sources.unknown_users.size(),
                  found.event.scope.uid == unknown_uid ? 1U : 0U);
        return found.event.scope.uid;
    };
    EXPECT_EQ(uid("0"), 0U);
    EXPECT_EQ(uid("root"), 0U);
    EXPECT_EQ(uid("4294967294"), 4294967294U);
    EXPECT_EQ(uid("4294967295"), unknown_uid);
    EXPECT_EQ(uid("1000x"), unknown_uid);
    EXPECT_EQ(good("<function name='f'/><scope pid='1'/>").scope.uid, std::nullopt);
    EXPECT_EQ(good("<function name='f'/><scope user='0'/>").scope.pid, std::nullopt);
}

TEST(EventScope, EachPartIsItsOwn) {
    const GroupScope groups =
        good(
            "<function name='f'/><scope unit='u' control-group='c' container='n' image='i' "
            "pod='p' namespace='s' label='l=1'/>")
            .scope.groups;
    EXPECT_EQ(groups.unit, "u");
    EXPECT_EQ(groups.control_group, "c");
    EXPECT_EQ(groups.container, "n");
    EXPECT_EQ(groups.image, "i");
    EXPECT_EQ(groups.pod, "p");
    EXPECT_EQ(groups.pod_namespace, "s");
    EXPECT_EQ(groups.label, "l=1");
}

TEST(EventDefaults, AreThoseOfTheReference) {
    const Event event = good("<begin usdt='a:b'/><end usdt='a:c'/>");
    EXPECT_EQ(event.name, "a");
    EXPECT_EQ(event.threshold, 50ms);
    EXPECT_EQ(event.trace_length, 4s);
    EXPECT_EQ(event.trace_length_limit, 16s);
    EXPECT_TRUE(event.copies);
    EXPECT_EQ(event.breach, BreachMode::Deadline);
    EXPECT_EQ(event.key, KeyKind::Thread);
    EXPECT_EQ(event.key_scope, KeyScope::Process);
    EXPECT_EQ(event.record, RecordMode::Delays);
    EXPECT_EQ(event.stacks, StackMode::None);
    EXPECT_FALSE(event.begin_time || event.trace_id);
    EXPECT_TRUE(event.scope.groups.empty());
    EXPECT_EQ(event.scope.binary, "");
    EXPECT_FALSE(event.calls || event.functions);
    EXPECT_TRUE(event.objects.empty());
}

TEST(EventChoices, AreTakenFromTheirAttributes) {
    const std::string pair = "<begin usdt='a:b'/><end usdt='a:c'/>";
    EXPECT_FALSE(good(pair, "binary='/b' copies='none'").copies);
    EXPECT_TRUE(good(pair, "binary='/b' copies='all'").copies);
    EXPECT_EQ(good(pair, "binary='/b' breach='end'").breach, BreachMode::End);
    EXPECT_EQ(good(pair, "binary='/b' breach='deadline'").breach, BreachMode::Deadline);
    const Event runs =
        good(pair, "binary='/b' record='runs' stacks='markers' cold='first-of-process'");
    EXPECT_EQ(runs.record, RecordMode::Runs);
    EXPECT_EQ(runs.stacks, StackMode::Markers);
    EXPECT_TRUE(runs.cold.first_of_process);
    EXPECT_EQ(runs.cold.after, std::nullopt);
    EXPECT_EQ(good(pair, "binary='/b' record='runs' stacks='none' cold-after='3min'").cold.after,
              180s);
}

TEST(EventNesting, FollowsFromTheMarkersOrIsGiven) {
    const std::string usdt = "<begin usdt='a:b'/><end usdt='a:c'/>";
    const std::string tracepoint = "<begin tracepoint='a:b'/><end usdt='a:c'/>";
    EXPECT_EQ(good(usdt).nesting, Nesting::Restart);
    EXPECT_EQ(good(tracepoint).nesting, Nesting::Restart);
    EXPECT_EQ(good("<run-queue/>", "").nesting, Nesting::Restart);
    EXPECT_EQ(good("<begin function='f'/><end usdt='a:c'/>").nesting, Nesting::Each);
    EXPECT_EQ(good("<function name='f'/>").nesting, Nesting::Each);
    EXPECT_EQ(good("<library/>").nesting, Nesting::Each);
    EXPECT_EQ(good(usdt, "binary='/b' nesting='each'").nesting, Nesting::Each);
    EXPECT_EQ(good(usdt, "binary='/b' nesting='outermost'").nesting, Nesting::Outermost);
    EXPECT_EQ(good("<library/>", "binary='/b' nesting='restart'").nesting, Nesting::Restart);
}

TEST(EventKeys, AreThoseOfTheMarkers) {
    EXPECT_EQ(good("<library/>").key, KeyKind::Thread);
    EXPECT_EQ(good("<key/><library/>").key, KeyKind::Argument);
    EXPECT_EQ(good("<begin usdt='a:b' key='arg0'/><end usdt='a:c' key='arg1'/>").key,
              KeyKind::Argument);
    EXPECT_EQ(good("<key scope='machine'/><library/>").key_scope, KeyScope::Machine);
    EXPECT_EQ(good("<key scope='process'/><library/>").key_scope, KeyScope::Process);
    EXPECT_THAT(built("<begin usdt='a:b'/>\n<stage name='s' usdt='a:d' key='arg0'/>\n"
                      "<end usdt='a:c' key='arg1'/>")
                    .problems,
                ElementsAre("3: <begin> has no key, but <stage> has one; expected key=\"...\" on "
                            "every marker of the event, or on none"));
}

TEST(EventArguments, AreWithinWhatTheirMarkerPasses) {
    const auto problems = [](const std::string& begin) {
        return built("<begin " + begin + "/><end usdt='a:c'/>").problems;
    };
    EXPECT_THAT(problems("usdt='a:b' trace-id='arg11'"), IsEmpty());
    EXPECT_THAT(problems("usdt='a:b' begin-time='arg12'"),
                ElementsAre("3: begin-time is \"arg12\"; expected arg0 to arg11 for a USDT probe"));
    EXPECT_THAT(problems("function='f' trace-id='arg5'"), IsEmpty());
    EXPECT_THAT(problems("function='f' trace-id='arg6'"),
                ElementsAre("3: trace-id is \"arg6\"; expected arg0 to arg5 for a function"));
    EXPECT_THAT(problems("function='f' begin-time='when'"),
                ElementsAre("3: begin-time is \"when\"; expected arg0 to arg5 for a function "
                            "(field names are for tracepoints)"));
    EXPECT_THAT(problems("tracepoint='a:b' trace-id='x'"),
                ElementsAre("3: trace-id with tracepoint; expected usdt or function"));
    EXPECT_THAT(problems("function='f' side='return' begin-time='arg0'"),
                ElementsAre("3: begin-time with side=\"return\"; expected none: a function's "
                            "parameters are gone when it returns"));
    const Event event =
        good("<begin usdt='a:b' begin-time='arg3' trace-id='arg4'/><end usdt='a:c'/>");
    EXPECT_EQ(event.begin_time->index, 3U);
    EXPECT_EQ(event.trace_id->index, 4U);
}

TEST(EventMarkers, OfBeginAndEndDiffer) {
    const std::string hint = " (<function name=\"...\"/> makes each call a run)";
    const std::string same =
        "3: begin and end of event \"a\" are the same marker; expected two different markers";
    const auto problems = [](const std::string& begin, const std::string& end) {
        return built("<begin " + begin + "/><end " + end + "/>").problems;
    };
    EXPECT_THAT(problems("usdt='a:b'", "usdt='a:b'"), ElementsAre(same));
    EXPECT_THAT(problems("function='f'", "function='f'"), ElementsAre(same + hint));
    EXPECT_THAT(problems("tracepoint='a:b'", "tracepoint='a:b'"), ElementsAre(same));
    EXPECT_THAT(problems("function='f'", "function='f' side='return'"), IsEmpty());
    EXPECT_THAT(problems("function='f'", "function='f' binary='/other'"), IsEmpty());
    EXPECT_THAT(problems("usdt='a:b'", "usdt='x:b'"), IsEmpty());
    EXPECT_THAT(problems("usdt='a:b'", "tracepoint='a:b'"), IsEmpty());
}

TEST(EventMarkers, OfAStageHaveUniqueNames) {
    const std::string text =
        "<begin usdt='a:b'/>\n<stage name='s' usdt='a:d'/>\n<stage name='t' usdt='a:e'/>\n"
        "<stage name='s' usdt='a:f' expected='yes'/>\n<end usdt='a:c'/>";
    EXPECT_THAT(built(text, "binary='/b' record='runs'").problems,
                ElementsAre("6: a second stage \"s\" in event \"a\"; expected unique stage names "
                            "(the first is at line 4)"));
    EXPECT_THAT(built("<library>\n<stage name='s'/>\n<stage name='s'/></library>").problems,
                ElementsAre("5: a second stage \"s\" in event \"a\"; expected unique stage names "
                            "(the first is at line 4)"));
    const Event event = built(text, "binary='/b' record='runs'").event;
    ASSERT_EQ(event.stages.size(), 3U);
    EXPECT_EQ(event.stages[1].name, "t");
    EXPECT_FALSE(event.stages[1].expected);
    EXPECT_TRUE(event.stages[2].expected);
}

TEST(EventThreshold, MayFollowFromTheRuns) {
    const auto rule = [](const std::string& attributes) {
        const std::string text = "<lagtrap version='1'>\n<event name='a' " + attributes +
                                 "><run-queue/></event>\n</lagtrap>";
        const ParseOutcome outcome = parse_settings(text, BinaryCheck::Skip);
        EXPECT_EQ(format_diagnostics("a.xml", text, outcome.diagnostics), "");
        return outcome.settings.events.at(0).threshold_rule;
    };
    EXPECT_EQ(rule("threshold='auto'")->floor, std::nullopt);
    EXPECT_EQ(rule("threshold='auto' threshold-floor='7ms'")->floor, 7ms);
    EXPECT_EQ(rule("threshold='7ms'"), std::nullopt);
}

TEST(EventQueue, HasNoMarkersOfItsOwn) {
    const Event event = good("\n<run-queue/>", "");
    EXPECT_EQ(event.begin.kind, MarkerKind::RunQueue);
    EXPECT_EQ(event.end.kind, MarkerKind::RunQueue);
    EXPECT_EQ(event.begin.name, "begins");
    EXPECT_EQ(event.end.name, "ends");
    for (const Marker& marker : {event.begin, event.end}) {
        EXPECT_EQ(marker.line, 4U);
        EXPECT_EQ(marker.column, 1U);
    }
}

TEST(EventCalls, AreThoseOfTheFunction) {
    const Event event = good("<function name='f'/><calls depth='0' match='x' share='0.1%'/>");
    EXPECT_EQ(event.calls->depth, 0U);
    EXPECT_EQ(event.calls->match, "x");
    EXPECT_EQ(event.calls->share_ppm, 1000U);
    const BuiltEvent none = built("<library/>\n<calls/>");
    EXPECT_FALSE(none.event.calls);
    EXPECT_THAT(none.problems,
                ElementsAre("4: <calls> in event \"a\", which has no <function>; expected <calls> "
                            "with <function> (a tree of calls starts with the call of one "
                            "function)"));
}

}  // namespace
}  // namespace lagtrap::settings::event_builder_test
