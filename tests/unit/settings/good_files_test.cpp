#include <gmock/gmock.h>

#include "settings/build.hpp"
#include "settings/parser.hpp"
#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::good_files_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_files;

Settings load(const std::filesystem::path& path, BinaryCheck check) {
    const ParseOutcome outcome = load_settings(path, check);
    EXPECT_EQ(format_diagnostics(path, outcome.settings.source_text, outcome.diagnostics), "");
    return outcome.settings;
}

const Settings& everything() {
    static const Settings settings =
        load(data_folder / "good" / "everything.xml", BinaryCheck::Skip);
    return settings;
}

const Event& event_named(std::string_view name) {
    for (const Event& event : everything().events)
        if (event.name == name) return event;
    throw std::runtime_error("no event of this name");
}

TEST(GoodFiles, TheSampleIsGoodAndArmsNothing) {
    const Settings settings = load(settings_folder / "settings.xml", BinaryCheck::Look);
    EXPECT_THAT(settings.events, testing::IsEmpty());
    EXPECT_FALSE(settings.upload);
    EXPECT_FALSE(settings.confirm);
    EXPECT_EQ(settings.source_text, content(settings_folder / "settings.xml"));
}

TEST(GoodFiles, TheSampleStatesTheDefaults) {
    const Settings sample = load(settings_folder / "settings.xml", BinaryCheck::Skip);
    const Settings defaults;
    EXPECT_EQ(sample.recording.sample_interval, defaults.recording.sample_interval);
    EXPECT_EQ(sample.recording.cool_down, defaults.recording.cool_down);
    EXPECT_EQ(sample.recording.captures_per_hour, defaults.recording.captures_per_hour);
    EXPECT_EQ(sample.recording.capture_size_limit_bytes,
              defaults.recording.capture_size_limit_bytes);
    EXPECT_EQ(sample.recording.merge_limit, defaults.recording.merge_limit);
    EXPECT_EQ(sample.recording.stack_copies_bytes, defaults.recording.stack_copies_bytes);
    EXPECT_EQ(sample.recording.scheduling, defaults.recording.scheduling);
    EXPECT_EQ(sample.runs.batch_interval, defaults.runs.batch_interval);
    EXPECT_EQ(sample.runs.batch_size_bytes, defaults.runs.batch_size_bytes);
    EXPECT_EQ(sample.runs.limit_per_second, defaults.runs.limit_per_second);
    EXPECT_EQ(sample.spool.path, defaults.spool.path);
    EXPECT_EQ(sample.spool.size_limit_bytes, defaults.spool.size_limit_bytes);
    EXPECT_EQ(sample.spool.age_limit, defaults.spool.age_limit);
    EXPECT_EQ(sample.control.socket, defaults.control.socket);
    EXPECT_EQ(sample.control.group, defaults.control.group);
    EXPECT_EQ(sample.control.trace, defaults.control.trace);
    EXPECT_EQ(sample.privacy.command_lines, defaults.privacy.command_lines);
}

// Each example is in a comment; uncommented, it must be valid settings.
TEST(GoodFiles, TheExamplesOfTheSampleAreGood) {
    std::string text = content(settings_folder / "settings.xml");
    for (std::size_t at = text.find("<event "); at != std::string::npos;
         at = text.find("<event ", at)) {
        text.insert(at, "-->");
        at = text.find("</event>", at) + 8;
        text.insert(at, "<!--");
    }
    const std::size_t confirm = text.find("<!-- <confirm");
    text.erase(confirm, 4).erase(text.find("-->", confirm), 3);
    const std::size_t upload = text.find("<!-- <upload");
    text.erase(upload, 4).erase(text.find("-->", upload), 3);
    const ParseOutcome outcome = parse_settings(text, BinaryCheck::Skip);
    EXPECT_EQ(format_diagnostics("settings.xml", text, outcome.diagnostics), "");
    std::vector<std::string> names;
    for (const Event& event : outcome.settings.events) names.push_back(event.name);
    EXPECT_THAT(names, testing::ElementsAre("query", "redis-command", "fsync", "frame"));
    EXPECT_TRUE(outcome.settings.confirm);
    ASSERT_TRUE(outcome.settings.upload);
    EXPECT_EQ(outcome.settings.upload->url, "https://lagtrap.example:8443");
}

TEST(GoodFiles, TheSmallestFileHasTheDefaults) {
    const Settings settings = load(data_folder / "good" / "smallest.xml", BinaryCheck::Look);
    EXPECT_EQ(settings.recording.sample_interval, 1ms);
    EXPECT_EQ(settings.spool.path, "/var/lib/lagtrap/spool");
    EXPECT_TRUE(settings.events.empty());
}

TEST(GoodFiles, CallsAreRecordedWhereTheyAreWanted) {
    const auto& calls = event_named("call").calls;
    ASSERT_TRUE(calls);
    EXPECT_EQ(calls->depth, 4);
    EXPECT_EQ(calls->match, "^(parse|plan)_|libpq");
    EXPECT_EQ(calls->share_ppm, 25'000);
    EXPECT_FALSE(event_named("accepted").calls);
    const auto outcome = parse_settings(
        "<lagtrap version='1'><event name='a' threshold='1s' trace-length='1s' "
        "binary='/bin/a'><calls/><function name='f'/></event></lagtrap>",
        BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    const RecordedCalls defaults;
    const auto& usual = outcome.settings.events.front().calls;
    ASSERT_TRUE(usual);
    EXPECT_EQ(usual->depth, defaults.depth);
    EXPECT_EQ(usual->match, defaults.match);
    EXPECT_EQ(usual->share_ppm, defaults.share_ppm);
}

TEST(GoodFiles, FunctionsAreTracedWhereTheyAreWanted) {
    const auto& functions = event_named("call").functions;
    ASSERT_TRUE(functions);
    EXPECT_EQ(*functions, (TracedFunctions{true, 10s, "libpq", "^dict", 1ms, 1'000'000, 50'000}));
    EXPECT_FALSE(event_named("accepted").functions);
    const auto outcome = parse_settings(
        "<lagtrap version='1'><event name='a' threshold='1s' trace-length='1s'><begin "
        "tracepoint='a:b'/><end tracepoint='a:c'/><functions/></event></lagtrap>",
        BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    ASSERT_TRUE(outcome.settings.events.front().functions);
    EXPECT_EQ(*outcome.settings.events.front().functions, TracedFunctions{});
}

TEST(GoodFiles, TheBudgetIsReadInItsUnitsAndOrder) {
    const auto outcome = parse_settings(
        "<lagtrap version='1'><budget share='2.5%' recording-share='100%' interval='500ms' "
        "disable='events  samples' pause='1h'/></lagtrap>",
        BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    const Budget& budget = outcome.settings.budget;
    EXPECT_EQ(budget.share_ppm, 25'000);
    EXPECT_EQ(budget.recording_share_ppm, 1'000'000);
    EXPECT_EQ(budget.interval, 500ms);
    EXPECT_THAT(budget.disable, testing::ElementsAre(BudgetPart::Events, BudgetPart::Samples));
    EXPECT_EQ(budget.pause, 1h);
}

TEST(GoodFiles, NothingIsDisabledWhereTheBudgetSaysSo) {
    const auto outcome = parse_settings("<lagtrap version='1'><budget disable='none'/></lagtrap>",
                                        BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    EXPECT_THAT(outcome.settings.budget.disable, testing::IsEmpty());
}

TEST(GoodFiles, AnAttributeHasItsEarlierName) {
    const auto budget_of = [](const std::string& attributes) {
        return parse_settings("<lagtrap version='1'><budget " + attributes + "/></lagtrap>",
                              BinaryCheck::Skip);
    };
    const auto earlier = budget_of("shed='events'");
    ASSERT_TRUE(earlier.ok());
    EXPECT_THAT(earlier.settings.budget.disable, testing::ElementsAre(BudgetPart::Events));
    const auto both = budget_of("disable='events' shed='stages'");
    ASSERT_EQ(both.diagnostics.size(), 1U);
    EXPECT_EQ(both.diagnostics.front().found, "shed is given twice in <budget>");
}

// An element without attributes has the defaults of the table, which equal those of the structs.
TEST(GoodFiles, EmptyElementsHaveTheDefaults) {
    const auto outcome = parse_settings(
        "<lagtrap "
        "version='1'><recording/><auto-threshold/><unwinding/><runs/><budget/><history/><context/>"
        "<confirm/><spool/><upload url='https://a'/><control/></lagtrap>",
        BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    const Settings& settings = outcome.settings;
    const Recording recording;
    EXPECT_EQ(settings.recording.sample_interval, recording.sample_interval);
    EXPECT_EQ(settings.recording.cool_down, recording.cool_down);
    EXPECT_EQ(settings.recording.captures_per_hour, recording.captures_per_hour);
    EXPECT_EQ(settings.recording.capture_size_limit_bytes, recording.capture_size_limit_bytes);
    EXPECT_EQ(settings.recording.merge_limit, recording.merge_limit);
    EXPECT_EQ(settings.recording.stack_copies_bytes, recording.stack_copies_bytes);
    EXPECT_EQ(settings.recording.scheduling, recording.scheduling);
    EXPECT_EQ(settings.auto_threshold.floor, AutoThreshold{}.floor);
    EXPECT_EQ(settings.auto_threshold.min_runs, AutoThreshold{}.min_runs);
    EXPECT_EQ(settings.auto_threshold.learn, AutoThreshold{}.learn);
    EXPECT_EQ(settings.auto_threshold.quiet, AutoThreshold{}.quiet);
    EXPECT_EQ(settings.auto_threshold.captures_per_day, AutoThreshold{}.captures_per_day);
    ASSERT_TRUE(settings.confirm);
    EXPECT_EQ(settings.confirm->wait, Confirm{}.wait);
    EXPECT_EQ(settings.unwinding.memory_bytes, Unwinding{}.memory_bytes);
    EXPECT_EQ(settings.unwinding.cache_path, Unwinding{}.cache_path);
    EXPECT_EQ(settings.unwinding.cache_limit_bytes, Unwinding{}.cache_limit_bytes);
    EXPECT_EQ(settings.runs.batch_interval, Runs{}.batch_interval);
    EXPECT_EQ(settings.runs.batch_size_bytes, Runs{}.batch_size_bytes);
    EXPECT_EQ(settings.runs.limit_per_second, Runs{}.limit_per_second);
    EXPECT_EQ(settings.budget.share_ppm, Budget{}.share_ppm);
    EXPECT_EQ(settings.budget.recording_share_ppm, Budget{}.recording_share_ppm);
    EXPECT_EQ(settings.budget.interval, Budget{}.interval);
    EXPECT_EQ(settings.budget.disable, Budget{}.disable);
    EXPECT_EQ(settings.budget.pause, Budget{}.pause);
    EXPECT_EQ(settings.history.length, History{}.length);
    EXPECT_EQ(settings.history.sample_interval, History{}.sample_interval);
    EXPECT_EQ(settings.history.early_share_ppm, History{}.early_share_ppm);
    EXPECT_EQ(settings.context.read, Context{}.read);
    EXPECT_EQ(settings.context.attributes, Context{}.attributes);
    EXPECT_EQ(settings.spool.path, Spool{}.path);
    EXPECT_EQ(settings.spool.size_limit_bytes, Spool{}.size_limit_bytes);
    EXPECT_EQ(settings.spool.age_limit, Spool{}.age_limit);
    ASSERT_TRUE(settings.upload);
    EXPECT_EQ(settings.upload->timeout, Upload{}.timeout);
    EXPECT_EQ(settings.control.socket, Control{}.socket);
    EXPECT_EQ(settings.control.group, Control{}.group);
}

TEST(GoodFiles, AttributesOfRequestsAreListed) {
    const auto context_of = [](const std::string& attributes) {
        const auto outcome = parse_settings(
            "<lagtrap version='1'><context " + attributes + "/></lagtrap>", BinaryCheck::Skip);
        EXPECT_TRUE(outcome.ok()) << attributes;
        return outcome.settings.context;
    };
    EXPECT_EQ(context_of("attributes='http.route  tenant'").attributes,
              (std::vector<std::string>{"http.route", "tenant"}));
    EXPECT_TRUE(context_of("attributes='none'").attributes.empty());
    EXPECT_TRUE(context_of("").read);
    EXPECT_FALSE(context_of("read='no'").read);
}

TEST(GoodFiles, AThresholdMayFollowFromTheRuns) {
    const auto outcome = parse_settings(
        "<lagtrap version='1'>"
        "<event name='a' threshold='auto' trace-length='1s'><run-queue/></event>"
        "<event name='b' threshold='p99x2.5' threshold-floor='7ms' "
        "trace-length='1s'><run-queue/></event>"
        "<event name='c' threshold='2ms' trace-length='1s'><run-queue/></event></lagtrap>",
        BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    const std::vector<Event>& events = outcome.settings.events;
    EXPECT_EQ(events[0].threshold, max_threshold);
    EXPECT_EQ(events[0].threshold_rule, ThresholdRule{});
    EXPECT_EQ(events[1].threshold, max_threshold);
    EXPECT_EQ(events[1].threshold_rule, (ThresholdRule{990'000, 250, 7ms}));
    EXPECT_EQ(events[2].threshold, 2ms);
    EXPECT_EQ(events[2].threshold_rule, std::nullopt);
}

TEST(GoodFiles, TheTraceLengthFollowsFromTheThreshold) {
    const std::string function = "binary='/bin/a'><function name='f'/></event>";
    const auto outcome = parse_settings(
        "<lagtrap version='1'><event name='a' threshold='50ms' " + function +
            "<event name='b' threshold='700ms' " + function + "<event name='c' threshold='1h' " +
            function + "<event name='d' threshold='auto' " + function +
            "<event name='e' threshold='700ms' trace-length='1s' " + function + "</lagtrap>",
        BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    std::vector<std::chrono::nanoseconds> lengths, limits;
    for (const Event& event : outcome.settings.events) {
        lengths.push_back(event.trace_length);
        limits.push_back(event.trace_length_limit);
    }
    EXPECT_EQ(lengths, (std::vector<std::chrono::nanoseconds>{2s, 2800ms, 20s, 4s, 1s}));
    EXPECT_EQ(limits, (std::vector<std::chrono::nanoseconds>{8s, 11200ms, 80s, 16s, 4s}));
}

TEST(Everything, RecordingSpoolUploadControl) {
    const Settings& settings = everything();
    EXPECT_EQ(settings.recording.sample_interval, 250us);
    EXPECT_EQ(settings.recording.cool_down, 0s);
    EXPECT_EQ(settings.recording.captures_per_hour, 3);
    EXPECT_EQ(settings.recording.capture_size_limit_bytes, 1536ULL << 20);
    EXPECT_EQ(settings.recording.merge_limit, std::chrono::minutes(90));
    EXPECT_EQ(settings.recording.stack_copies_bytes, 0U);
    EXPECT_FALSE(settings.recording.scheduling);
    EXPECT_EQ(settings.auto_threshold.floor, 5ms);
    EXPECT_EQ(settings.auto_threshold.min_runs, 2000);
    EXPECT_EQ(settings.auto_threshold.learn, 2h);
    EXPECT_EQ(settings.auto_threshold.quiet, 12h);
    EXPECT_EQ(settings.auto_threshold.captures_per_day, 3);
    ASSERT_TRUE(settings.confirm);
    EXPECT_EQ(settings.confirm->wait, 90s);
    EXPECT_EQ(settings.unwinding.memory_bytes, 16ULL << 20);
    EXPECT_EQ(settings.unwinding.cache_path, "/srv/unwind");
    EXPECT_EQ(settings.unwinding.cache_limit_bytes, 1ULL << 30);
    EXPECT_EQ(settings.spool.path, "/srv/lagtrap & more");
    EXPECT_EQ(settings.spool.size_limit_bytes, 64'000'000);
    EXPECT_EQ(settings.spool.age_limit, 12h);
    EXPECT_EQ(settings.spool.sent_runs_age, 48h);
    ASSERT_TRUE(settings.upload);
    EXPECT_EQ(settings.upload->url, "https://[2001:db8::1]:8443/traces");
    EXPECT_EQ(settings.upload->token_file, "/etc/lagtrap/token");
    EXPECT_EQ(settings.upload->ca_file, "/etc/lagtrap/ca.pem");
    EXPECT_EQ(settings.upload->proxy, "socks5h://proxy.example:1080");
    EXPECT_EQ(settings.upload->timeout, 90s);
    EXPECT_EQ(settings.control.socket, "/run/other.sock");
    EXPECT_EQ(settings.control.group, "adm");
    EXPECT_EQ(settings.control.read, Callers::Anyone);
    EXPECT_EQ(settings.control.change, Callers::Root);
    EXPECT_EQ(settings.control.trace, Callers::Group);
    EXPECT_EQ(settings.privacy.command_lines, CommandLines::Program);
    EXPECT_EQ(settings.events.size(), 7);
}

TEST(Everything, UsdtEventWithKeys) {
    const Event& query = event_named("query");
    EXPECT_EQ(query.threshold, 50ms);
    EXPECT_EQ(query.trace_length, 4s);
    EXPECT_EQ(query.trace_length_limit, 90s);
    EXPECT_EQ(query.breach, BreachMode::End);
    EXPECT_EQ(query.nesting, Nesting::Outermost);
    EXPECT_EQ(query.key, KeyKind::Argument);
    EXPECT_EQ(query.key_scope, KeyScope::Machine);
    EXPECT_EQ(query.scope.pid, 4194304);
    EXPECT_EQ(query.scope.uid, 0);
    EXPECT_EQ(query.scope.binary, "/usr/bin/python3");
    EXPECT_EQ(query.scope.groups,
              (GroupScope{"web", "/batch/*", "shop", "team/shop:*", "shop-*", "prod", "tier=f*"}));
    EXPECT_FALSE(query.copies);
    EXPECT_EQ(query.begin.kind, MarkerKind::Usdt);
    EXPECT_EQ(query.begin.binary, "/usr/bin/app");
    EXPECT_EQ(query.begin.provider, "app");
    EXPECT_EQ(query.begin.name, "start");
    ASSERT_TRUE(query.begin.key);
    EXPECT_EQ(query.begin.key->index, 0);
    ASSERT_TRUE(query.begin_time);
    EXPECT_EQ(query.begin_time->index, 11);
    ASSERT_TRUE(query.trace_id);
    EXPECT_EQ(query.trace_id->index, 3);
    EXPECT_EQ(query.begin.line, 16);
    EXPECT_EQ(query.begin.column, 5);
    ASSERT_EQ(query.stages.size(), 2);
    EXPECT_EQ(query.stages[0].name, "parse");
    EXPECT_EQ(query.stages[0].marker.binary, "/usr/lib/libparse.so");
    EXPECT_EQ(query.stages[0].marker.key->index, 3);
    EXPECT_EQ(query.stages[1].marker.kind, MarkerKind::Function);
    EXPECT_EQ(query.stages[1].marker.name, "ns::Store<int>::send(int, char const*)");
    EXPECT_EQ(query.stages[1].marker.key->index, 5);
    EXPECT_EQ(query.end.key->index, 1);
}

TEST(Everything, FunctionsAreEntryAndReturn) {
    const Event& call = event_named("call");
    EXPECT_EQ(call.breach, BreachMode::Deadline);
    EXPECT_EQ(call.nesting, Nesting::Each);
    EXPECT_EQ(call.key, KeyKind::Thread);
    EXPECT_EQ(call.threshold, 1us);
    EXPECT_EQ(call.trace_length, 10ms);
    EXPECT_EQ(call.trace_length_limit, 40ms);
    EXPECT_EQ(call.begin.kind, MarkerKind::Function);
    EXPECT_EQ(call.begin.name, "call");
    EXPECT_EQ(call.begin.side, FunctionSide::Entry);
    EXPECT_EQ(call.end.name, "call");
    EXPECT_EQ(call.end.binary, "/usr/bin/redis-server");
    EXPECT_EQ(call.end.side, FunctionSide::Return);
    ASSERT_EQ(call.stages.size(), 1);
    EXPECT_EQ(call.stages[0].marker.name, "lookupKey");
    const Event& accepted = event_named("accepted");
    EXPECT_EQ(accepted.threshold, 1h);
    EXPECT_EQ(accepted.trace_length, 10min);
    EXPECT_EQ(accepted.trace_length_limit, 10min);
    EXPECT_EQ(accepted.nesting, Nesting::Each);
    EXPECT_EQ(accepted.begin.side, FunctionSide::Return);
    EXPECT_EQ(accepted.end.side, FunctionSide::Return);
}

TEST(Everything, Tracepoints) {
    const Event& fsync = event_named("fsync");
    EXPECT_EQ(fsync.threshold, 200ms);
    EXPECT_EQ(fsync.nesting, Nesting::Restart);
    EXPECT_EQ(fsync.key, KeyKind::Thread);
    EXPECT_EQ(fsync.begin.kind, MarkerKind::Tracepoint);
    EXPECT_EQ(fsync.begin.binary, "");
    EXPECT_EQ(fsync.begin.provider, "syscalls");
    EXPECT_EQ(fsync.begin.name, "sys_enter_fsync");
    EXPECT_FALSE(fsync.begin.key);
    const Event& disk = event_named("disk");
    EXPECT_EQ(disk.key, KeyKind::Argument);
    EXPECT_EQ(disk.key_scope, KeyScope::Process);
    ASSERT_TRUE(disk.begin.key && disk.end.key);
    EXPECT_EQ(disk.begin.key->field, "dev");
    EXPECT_EQ(disk.begin.key->second_field, "sector");
}

TEST(Everything, LibraryMarkers) {
    const Event& frame = event_named("frame-2");
    EXPECT_EQ(frame.nesting, Nesting::Each);
    EXPECT_EQ(frame.key, KeyKind::Thread);
    EXPECT_EQ(frame.begin.kind, MarkerKind::Library);
    EXPECT_EQ(frame.begin.provider, "lagtrap");
    EXPECT_EQ(frame.begin.name, "frame-2__begin");
    EXPECT_EQ(frame.begin.binary, "/opt/app/bin/app");
    EXPECT_EQ(frame.end.name, "frame-2__end");
    EXPECT_FALSE(frame.begin.key);
    ASSERT_TRUE(frame.begin_time);
    EXPECT_EQ(frame.begin_time->index, 1);
    ASSERT_EQ(frame.stages.size(), 2);
    EXPECT_EQ(frame.stages[1].name, "draw");
    EXPECT_EQ(frame.stages[1].marker.name, "frame-2__stage__draw");
    const Event& request = event_named("request");
    EXPECT_EQ(request.key, KeyKind::Argument);
    EXPECT_EQ(request.begin.binary, "/opt/app/lib/libapp.so");
    ASSERT_TRUE(request.begin.key && request.end.key);
    EXPECT_EQ(request.begin.key->index, 0);
}

// An event with these elements in it.
Event event_of(const std::string& elements) {
    const std::string text =
        "<lagtrap version='1'><event name='e' threshold='1s' trace-length='1s' "
        "binary='/usr/lib/app'>" +
        elements + "</event></lagtrap>";
    const ParseOutcome outcome = parse_settings(text, BinaryCheck::Skip);
    EXPECT_EQ(format_diagnostics("short.xml", text, outcome.diagnostics), "");
    return outcome.settings.events.empty() ? Event() : outcome.settings.events.front();
}

TEST(ShortForms, APairOfProbes) {
    const Event pair = event_of(
        "<usdt provider='postgresql' name='query'/><stage name='plan' usdt='postgresql:plan'/>");
    EXPECT_EQ(pair.begin.kind, MarkerKind::Usdt);
    EXPECT_EQ(pair.begin.provider, "postgresql");
    EXPECT_EQ(pair.begin.name, "query__start");
    EXPECT_EQ(pair.end.name, "query__done");
    EXPECT_EQ(pair.end.binary, "/usr/lib/app");
    EXPECT_EQ(pair.key, KeyKind::Thread);
    ASSERT_EQ(pair.stages.size(), 1U);
    const Event other = event_of(
        "<usdt provider='python' name='function' begin='entry' end='return' binary='/usr/bin/x' "
        "key='arg2'/>");
    EXPECT_EQ(other.begin.name, "function__entry");
    EXPECT_EQ(other.end.name, "function__return");
    EXPECT_EQ(other.end.binary, "/usr/bin/x");
    EXPECT_EQ(other.key, KeyKind::Argument);
    ASSERT_TRUE(other.begin.key && other.end.key);
    EXPECT_EQ(other.end.key->index, 2);
}

TEST(ShortForms, APairMayHaveOtherEnds) {
    const Event event =
        event_of("<end usdt='app:failed' as='failed'/><usdt provider='app' name='query'/>");
    EXPECT_EQ(event.end.name, "query__done");
    ASSERT_EQ(event.other_ends.size(), 1U);
    EXPECT_EQ(event.other_ends[0].marker.name, "failed");
}

TEST(ShortForms, KeysNeedNoElement) {
    const Event event = event_of("<begin usdt='app:a' key='arg0'/><end usdt='app:b' key='arg1'/>");
    EXPECT_EQ(event.key, KeyKind::Argument);
    EXPECT_EQ(event.key_scope, KeyScope::Process);
    const Event anywhere =
        event_of("<key scope='machine'/><usdt provider='app' name='q' key='arg0'/>");
    EXPECT_EQ(anywhere.key_scope, KeyScope::Machine);
}

TEST(ShortForms, HeadersMayHaveAnotherName) {
    const Event job = event_of("<header event='job'><stage name='draw'/></header>");
    EXPECT_EQ(job.begin.kind, MarkerKind::Library);
    EXPECT_EQ(job.begin.name, "job__begin");
    EXPECT_EQ(job.end.name, "job__end");
    ASSERT_EQ(job.stages.size(), 1U);
    EXPECT_EQ(job.stages[0].marker.name, "job__stage__draw");
    EXPECT_EQ(event_of("<header/>").begin.name, "e__begin");
}

TEST(Everything, RecordedRuns) {
    EXPECT_EQ(everything().runs.batch_interval, 2500ms);
    EXPECT_EQ(everything().runs.batch_size_bytes, 3ULL << 19);
    EXPECT_EQ(everything().runs.limit_per_second, 7);
    const Event& call = event_named("call");
    EXPECT_EQ(call.record, RecordMode::Runs);
    EXPECT_EQ(call.stacks, StackMode::Markers);
    EXPECT_FALSE(call.cold.first_of_process);
    EXPECT_EQ(call.cold.after, 10min);
    EXPECT_TRUE(call.stages.at(0).expected);
    const Event& frame = event_named("frame-2");
    EXPECT_EQ(frame.record, RecordMode::Runs);
    EXPECT_EQ(frame.stacks, StackMode::None);
    EXPECT_TRUE(frame.cold.first_of_process);
    EXPECT_FALSE(frame.cold.after);
    EXPECT_FALSE(frame.stages.at(0).expected);
    EXPECT_TRUE(frame.stages.at(1).expected);
    const Event& query = event_named("query");
    EXPECT_EQ(query.record, RecordMode::Delays);
    EXPECT_EQ(query.stacks, StackMode::None);
    EXPECT_FALSE(query.cold.first_of_process || query.cold.after);
}

TEST(Users, AreFoundByName) {
    const auto outcome = parse_settings(
        event("<scope user='root'/><function name='f' binary='/f'/>"), BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.settings.events[0].scope.uid, 0);
}

TEST(Users, WhoAreUnknownMakeAnEventOfNobodyNotOfEverybody) {
    const auto outcome = parse_settings(
        event("<scope user='no-such-user'/><function name='f' binary='/f'/>"), BinaryCheck::Skip);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.settings.events[0].scope.uid, unknown_uid);
}

TEST(Uploads, WithoutEncryptionAreForThisMachineOrAllowed) {
    const auto problems = [](const std::string& attributes) {
        return check("<lagtrap version='1'><upload " + attributes + "/></lagtrap>",
                     BinaryCheck::Skip);
    };
    for (const char* url :
         {"http://127.0.0.1:8080", "http://localhost/x", "http://[::1]:80", "http://127.8.9.10"})
        EXPECT_EQ(problems(std::string("url='") + url + "'"), "") << url;
    EXPECT_EQ(problems("url='http://lagtrap.example' allow-http='yes'"), "");
    for (const char* url : {"http://lagtrap.example", "http://localhost.example",
                            "http://127.0.0.1.example", "http://10.0.0.1"})
        EXPECT_THAT(problems(std::string("url='") + url + "'"),
                    testing::HasSubstr("which is not encrypted"))
            << url;
}

TEST(Texts, ByteOrderMarkAndWindowsLinesAreFine) {
    EXPECT_EQ(
        check("\xef\xbb\xbf<?xml version=\"1.0\"?>\r\n<lagtrap version=\"1\">\r\n</lagtrap>\r\n",
              BinaryCheck::Skip),
        "");
}

TEST(Texts, AreKeptAsTheyAre) {
    const std::string text = "\xef\xbb\xbf<lagtrap version='1'/>\r\n<!-- end -->";
    EXPECT_EQ(parse_settings(text, BinaryCheck::Skip).settings.source_text, text);
}

}  // namespace
}  // namespace lagtrap::settings::good_files_test
