#include "trace/logs/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::session_test {
namespace {

using testing::HasSubstr;

Session full_session() {
    Session session;
    session.id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    session.lagtrap_version = "0.1.0";
    session.clocks = {1, 2, 18'000'000'000'000'000'000ULL};
    session.started_ns = 10;
    session.ended_ns = 20;
    session.planned_length_ns = 4'000'000'000;
    session.longest_length_ns = 16'000'000'000;
    session.end = RecordingEnd::RunEnd;
    session.sample_interval_ns = 999;
    session.cpu_count = 16;
    session.stack_method = "frame-pointer";
    session.events = {{"query",
                       50'000'000,
                       4'000'000'000,
                       {"parse", "execute"},
                       "/usr/bin/postgres",
                       {"a", "b", "c", "d"},
                       16'000'000'000},
                      {"fsync", 1, 2, {}, "", {}, 3}};
    session.trigger = {TriggerReason::Deadline, 1, 33, 34, "name", 35, 36, 37};
    session.boot_id = "4b2a8c1e-0000-4000-8000-000000000001";
    session.quality = {
        1, 2, 3, 4, 5, 11, 12, 6, 7, 10, 8, 9, true, {"every 2nd sample alone was taken"}, 13, 14};
    session.containers = {{"3f2a", {"web", "nginx:1.25", "cart-7d9", "shop"}}};
    session.finished = true;
    return session;
}

TEST(Session, GivesBackWhatWasWritten) {
    TemporaryDirectory directory;
    const Session written = full_session();
    ASSERT_TRUE(write_session(directory.path(), written));
    auto read = read_session(directory.path());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->id, written.id);
    EXPECT_EQ(read->lagtrap_version, "0.1.0");
    EXPECT_EQ(read->clocks.realtime_ns, written.clocks.realtime_ns);
    EXPECT_EQ(read->started_ns, 10U);
    EXPECT_EQ(read->ended_ns, 20U);
    EXPECT_EQ(read->planned_length_ns, 4'000'000'000U);
    EXPECT_EQ(read->longest_length_ns, 16'000'000'000U);
    EXPECT_EQ(read->end, RecordingEnd::RunEnd);
    EXPECT_EQ(read->sample_interval_ns, 999U);
    EXPECT_EQ(read->cpu_count, 16U);
    EXPECT_EQ(read->stack_method, "frame-pointer");
    ASSERT_EQ(read->events.size(), 2U);
    EXPECT_EQ(read->events[0].stages, (std::vector<std::string>{"parse", "execute"}));
    EXPECT_EQ(read->events[0].program, "/usr/bin/postgres");
    EXPECT_EQ(read->events[1].threshold_ns, 1U);
    EXPECT_EQ(read->events[1].trace_length_limit_ns, 3U);
    EXPECT_EQ(read->events[0].markers, (std::vector<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(read->trigger.reason, TriggerReason::Deadline);
    EXPECT_EQ(read->trigger.reported_ns, 37U);
    EXPECT_EQ(read->quality.samples_taken, 1U);
    EXPECT_EQ(read->boot_id, written.boot_id);
    EXPECT_EQ(read->quality.stack_copies, 11U);
    EXPECT_EQ(read->quality.stack_copies_left_out, 12U);
    EXPECT_EQ(read->quality.daemon_cpu_ns, 9U);
    EXPECT_TRUE(read->quality.truncated_by_size);
    ASSERT_EQ(read->containers.count("3f2a"), 1U);
    EXPECT_EQ(read->containers["3f2a"].image, "nginx:1.25");
    EXPECT_EQ(read->containers["3f2a"].pod_namespace, "shop");
    EXPECT_TRUE(read->finished);
}

TEST(Session, NamesOfOthersStayText) {
    TemporaryDirectory directory;
    Session session = full_session();
    session.trigger.comm = "a\x01\xff\"b";
    ASSERT_TRUE(write_session(directory.path(), session));
    auto read = read_session(directory.path());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->trigger.comm, "a\\x01\\xff\"b");
}

TEST(Session, SaysWhatIsWrong) {
    struct Case {
        const char* found;
        const char* replacement;
        const char* message;
    };
    TemporaryDirectory directory;
    ASSERT_TRUE(write_session(directory.path(), full_session()));
    const auto path = directory.path() / "session.json";
    const std::string good = read_file(path, 1 << 20).value();
    for (const auto& [found, replacement, message] :
         {Case{"\"cpu_count\":16", "\"cpu_count\":-1", "\"cpu_count\" is not a whole number"},
          Case{"\"cpu_count\":16", "\"cpu_count\":100000", "\"cpu_count\" is 100000; at most 8192"},
          Case{"\"cpu_count\":16", "\"cpus\":16", "\"cpu_count\" is missing"},
          Case{"\"pid\":33", "\"pid\":\"33\"", "\"trigger.pid\" is not a whole number"},
          Case{"\"reason\":\"deadline\"", "\"reason\":\"x\"",
               "allowed are deadline, end and manual"},
          Case{"\"event\":1", "\"event\":2", "\"trigger.event\" is no index"},
          Case{"\"parse\"", "7", "\"events[0].stages[0]\" is not a short text"},
          Case{"0f8fad5b-d9cb-469f-a165-70867728950e", "../../etc/passwd", "\"id\" is not a UUID"},
          Case{"\"ended_ns\":20", "\"ended_ns\":5", "lies before"},
          Case{"\"finished\":true", "\"finished\":1", "neither true nor false"},
          Case{"{", "[", "not JSON"}}) {
        std::string bad = good;
        bad.replace(bad.find(found), std::string(found).size(), replacement);
        ASSERT_TRUE(write_file_durably(path, bad));
        auto read = read_session(directory.path());
        ASSERT_FALSE(read.ok()) << message;
        EXPECT_THAT(read.error().message, HasSubstr(message));
    }
}

TEST(Session, HugeAndDeepFilesAreRefused) {
    TemporaryDirectory directory;
    const auto path = directory.path() / "session.json";
    ASSERT_TRUE(write_file_durably(path, std::string(2 << 20, ' ')));
    EXPECT_EQ(read_session(directory.path()).error().kind, ErrorKind::TooLarge);
    ASSERT_TRUE(write_file_durably(path, std::string(1 << 19, '[')));
    EXPECT_FALSE(read_session(directory.path()).ok());
}

// What other programs may read.
constexpr const char* full_text =
    R"({"id":"0f8fad5b-d9cb-469f-a165-70867728950e","lagtrap_version":"0.1.0",)"
    R"("boot_id":"4b2a8c1e-0000-4000-8000-000000000001",)"
    R"("clocks":{"monotonic_ns":1,"boottime_ns":2,"realtime_ns":18000000000000000000},)"
    R"("started_ns":10,"ended_ns":20,"history_length_ns":38,"history_interval_ns":39,)"
    R"("planned_length_ns":4000000000,"longest_length_ns":16000000000,"end":"run-end",)"
    R"("sample_interval_ns":999,"cpu_count":16,"stack_method":"frame-pointer",)"
    R"("events":[{"name":"query","threshold_ns":50000000,"trace_length_ns":4000000000,)"
    R"("trace_length_limit_ns":16000000000,"stages":["parse","execute"],)"
    R"("program":"/usr/bin/postgres","markers":["a","b","c","d"]},)"
    R"({"name":"fsync","threshold_ns":1,"trace_length_ns":2,"trace_length_limit_ns":3,)"
    R"("stages":[],"program":"","markers":[]}],)"
    R"("trigger":{"reason":"deadline","event":1,"pid":33,"tid":34,"comm":"name",)"
    R"("begin_ns":35,"breach_ns":36,"reported_ns":37},)"
    R"("quality":{"samples_taken":1,"samples_lost":2,"switches_lost":3,"wakings_lost":4,)"
    R"("contexts_lost":13,"contexts_unreadable":14,)"
    R"("stacks_lost":5,"stack_copies":11,"stack_copies_left_out":12,"runs_lost":6,)"
    R"("task_changes_lost":7,"code_files_lost":10,"bpf_run_time_ns":8,"daemon_cpu_ns":9,)"
    R"("truncated_by_size":true,"omitted":["every 2nd sample alone was taken"]},)"
    R"("containers":[{"id":"3f2a","name":"web","image":"nginx:1.25","pod":"cart-7d9",)"
    R"("namespace":"shop"}],"finished":true})"
    "\n";

TEST(Session, EachFieldHasItsName) {
    const TemporaryDirectory directory;
    const auto path = directory.path() / "session.json";
    Session session = full_session();
    session.history_length_ns = 38;
    session.history_interval_ns = 39;
    ASSERT_TRUE(write_session(directory.path(), session));
    EXPECT_EQ(read_file(path, 1 << 20).value(), full_text);
    // Each field is read: what was read is written alike.
    const auto read = read_session(directory.path());
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_TRUE(write_session(directory.path(), *read));
    EXPECT_EQ(read_file(path, 1 << 20).value(), full_text);
}

// Reads the full text with a change.
Result<Session> read_with(const std::string& found, const std::string& replacement) {
    const TemporaryDirectory directory;
    std::string text = full_text;
    const std::size_t at = text.find(found);
    EXPECT_NE(at, std::string::npos) << found;
    text.replace(at, found.size(), replacement);
    EXPECT_TRUE(write_file(directory.path() / "session.json", text));
    return read_session(directory.path());
}

TEST(Session, OlderCapturesLackFields) {
    EXPECT_EQ(read_with(R"("boot_id":"4b2a8c1e-0000-4000-8000-000000000001",)", "")->boot_id, "");
    EXPECT_EQ(
        read_with(R"("history_length_ns":38,"history_interval_ns":39,)", "")->history_interval_ns,
        0U);
    EXPECT_EQ(read_with(R"("longest_length_ns":16000000000,"end":"run-end",)", "")->end,
              RecordingEnd::Unknown);
    EXPECT_EQ(read_with(R"("trace_length_limit_ns":16000000000,)", "")
                  ->events.at(0)
                  .trace_length_limit_ns,
              0U);
    EXPECT_TRUE(read_with(R"(,"markers":["a","b","c","d"])", "")->events.at(0).markers.empty());
    EXPECT_EQ(read_with(R"("stack_copies":11,"stack_copies_left_out":12,)", "")
                  ->quality.stack_copies_left_out,
              0U);
    EXPECT_EQ(read_with(R"("code_files_lost":10,)", "")->quality.code_files_lost, 0U);
    EXPECT_TRUE(read_with(R"(,"omitted":["every 2nd sample alone was taken"])", "")
                    ->quality.omitted.empty());
    EXPECT_THAT(read_with(R"("omitted":)", R"("shed":)")->quality.omitted,
                testing::ElementsAre("every 2nd sample alone was taken"))
        << "its earlier name";
    EXPECT_TRUE(read_with(R"("containers":[{"id":"3f2a","name":"web","image":"nginx:1.25",)"
                          R"("pod":"cart-7d9","namespace":"shop"}],)",
                          "")
                    ->containers.empty());
    EXPECT_EQ(read_with(R"("end":"run-end")", R"("end":"unheard-of")")->end, RecordingEnd::Unknown);
    EXPECT_EQ(read_with(R"("ended_ns":20)", R"("ended_ns":0)")->ended_ns, 0U) << "still running";
}

TEST(Session, SaysWhatIsAllowed) {
    const auto problem = [](const std::string& found, const std::string& replacement) {
        const auto session = read_with(found, replacement);
        if (session) return std::string("accepted");
        const std::string& message = session.error().message;
        return message.substr(message.find("session.json: ") + 14);
    };
    const std::string longest(4096, 'x');
    EXPECT_EQ(problem("frame-pointer", longest), "accepted");
    EXPECT_EQ(problem("frame-pointer", longest + "x"),
              "\"stack_method\" is longer than 4096 bytes");
    EXPECT_EQ(problem("\"frame-pointer\"", "7"), "\"stack_method\" is not a text");
    EXPECT_EQ(problem("[\"parse\"", "[\"" + longest + "\""), "accepted");
    EXPECT_EQ(problem("[\"parse\"", "[\"" + longest + "x\""),
              "\"events[0].stages[0]\" is not a short text");
    EXPECT_EQ(problem("\"d\"]", "7]"), "\"events[0].markers[3]\" is not a short text");
    EXPECT_EQ(problem("[\"every", "[\"" + longest), "\"quality.omitted[0]\" is not a short text");
    EXPECT_EQ(problem(R"("cpu_count":16)", R"("cpu_count":8192)"), "accepted");
    EXPECT_EQ(problem(R"("cpu_count":16)", R"("cpu_count":8193)"),
              "\"cpu_count\" is 8193; at most 8192 is allowed");
    EXPECT_EQ(problem(R"("pid":33)", R"("pid":4294967296)"),
              "\"trigger.pid\" is 4294967296; at most 4294967295 is allowed");
    EXPECT_EQ(problem(R"("sample_interval_ns":999)", R"("sample_interval_ns":0)"),
              "\"sample_interval_ns\" is 0");
    EXPECT_EQ(problem(R"("ended_ns":20)", R"("ended_ns":10)"), "accepted");
    EXPECT_EQ(problem(R"("ended_ns":20)", R"("ended_ns":9)"),
              "\"ended_ns\" lies before \"started_ns\"");
    EXPECT_EQ(problem(R"("clocks":{"monotonic_ns":1,)", R"("clocks":{)"),
              "\"clocks.monotonic_ns\" is missing");
    EXPECT_EQ(problem(R"("clocks":{"monotonic_ns":1,"boottime_ns":2,)", R"("clocks":[],"x":{)"),
              "\"clocks\" is not an object");
    EXPECT_EQ(problem(R"([{"name":"query")", R"([7,{"name":"query")"),
              "\"events[0]\" is not an object");
    EXPECT_EQ(problem(R"([{"id":"3f2a")", R"([7,{"id":"3f2a")"),
              "\"containers[0]\" is not an object");
    EXPECT_EQ(problem(R"("stages":["parse","execute"])", R"("stages":7)"),
              "\"events[0].stages\" is not a list");
    for (const char* reason : {"deadline", "end", "manual"})
        EXPECT_EQ(problem("\"deadline\"", std::string("\"") + reason + "\""), "accepted");
    EXPECT_EQ(problem("\"deadline\"", "\"x\""),
              "\"trigger.reason\" is \"x\"; allowed are deadline, end and manual");
}

TEST(Session, ListsHaveTheirLimits) {
    const auto counted = [](std::size_t stages, std::size_t markers, std::size_t events) {
        const TemporaryDirectory directory;
        Session session = full_session();
        session.events.resize(events, session.events[1]);
        session.events[0].stages.assign(stages, "s");
        session.events[0].markers.assign(markers, "m");
        EXPECT_TRUE(write_session(directory.path(), session));
        const auto read = read_session(directory.path());
        return read ? std::string() : read.error().message.substr(read.error().message.find("\""));
    };
    EXPECT_EQ(counted(16, 18, 256), "");
    EXPECT_EQ(counted(17, 18, 2), "\"events[0].stages\" has 17 elements; at most 16 are allowed");
    EXPECT_EQ(counted(16, 19, 2), "\"events[0].markers\" has 19 elements; at most 18 are allowed");
    EXPECT_EQ(counted(16, 18, 257), "\"events\" has 257 elements; at most 256 are allowed");
    const TemporaryDirectory directory;
    Session session = full_session();
    session.quality.omitted.assign(omitted_limit + 1, "x");
    session.containers.clear();
    for (std::size_t i = 0; i < session_containers_limit + 1; ++i)
        session.containers[std::to_string(i)].name = std::string(300, 'n');
    ASSERT_TRUE(write_session(directory.path(), session));
    const auto read = read_session(directory.path());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->quality.omitted.size(), 64U);
    EXPECT_EQ(read->containers.size(), 512U);
    EXPECT_EQ(read->containers.begin()->second.name, std::string(256, 'n'));
}

TEST(RecordingEnds, HaveNames) {
    using enum RecordingEnd;
    const std::pair<RecordingEnd, const char*> names[] = {
        {Length, "length"}, {RunEnd, "run-end"}, {RunGone, "run-gone"},
        {Limit, "limit"},   {Size, "size"},      {Unknown, ""}};
    for (const auto& [end, name] : names) {
        EXPECT_EQ(recording_end_name(end), name);
        EXPECT_EQ(recording_end_named(name), end);
    }
}

TEST(RunningBootId, IsOneLineOfTheKernel) {
    const TemporaryDirectory root;
    EXPECT_EQ(running_boot_id(root.path()), "");
    const auto folder = root.path() / "sys/kernel/random";
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file_durably(folder / "boot_id", "4b2a8c1e-\x01\nmore\n"));
    EXPECT_EQ(running_boot_id(root.path()), "4b2a8c1e-\\x01");
}

}  // namespace
}  // namespace lagtrap::trace::session_test
