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
    session.quality = {1, 2, 3,  4, 5, 11,   12,
                       6, 7, 10, 8, 9, true, {"every 2nd sample alone was taken"}};
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

}  // namespace
}  // namespace lagtrap::trace::session_test
