#include "server/ingest/delay_chain.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::server::delay_chain_test {
namespace {

namespace json = boost::json;
using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

std::string text(const json::value& value) { return json::value_to<std::string>(value); }

TraceBuilder::Stack in_lock(const std::string& function) {
    return {"clone3",
            "start_thread",
            function,
            "?:/usr/lib/x86_64-linux-gnu/libc.so.6",
            "___pthread_mutex_lock",
            "__lll_lock_wait",
            "k:futex_wait",
            "k:schedule"};
}

void wait_for_lock(TraceBuilder& builder, std::uint32_t cpu, std::uint32_t tid, std::uint64_t from,
                   std::uint64_t until, const std::string& function, std::uint32_t holder) {
    builder.switched(from, cpu, tid, 1, 0).off_cpu(from, 10, tid, in_lock(function));
    builder.waking(until, cpu, holder, tid).switched(until, cpu, 0, 0, tid);
}

// Thread 11 waits for 12, which waits for 13, which computes all the time.
TraceBuilder chain_of_locks() {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "first");
    builder.thread(10, 12, "second").thread(10, 13, "third");
    for (std::uint32_t i = 0; i < 3; ++i) builder.switched(1 * ms, i, 0, 0, 11 + i);
    builder.samples(2 * ms, 300 * ms, 2, 10, 13, {"clone3", "start_thread", "third_holds_c"});
    wait_for_lock(builder, 1, 12, 5 * ms, 290 * ms, "second_wants_c", 13);
    wait_for_lock(builder, 0, 11, 20 * ms, 291 * ms, "first_wants_b", 12);
    builder.run(TraceBuilder::delay(1, "work", 19 * ms, 273 * ms, 10 * ms, 10, 11));
    return builder;
}

// A thread that runs, waits for a CPU and runs again, in a delay of this span.
TraceBuilder preempted(std::int64_t begin, std::uint64_t duration_ns) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(20, 20, "other");
    builder.switched(1 * ms, 0, 0, 0, 10);
    builder.switched(150 * ms, 0, 10, 0, 20).switched(250 * ms, 0, 20, 1, 10);
    builder.switched(399 * ms, 0, 10, 1, 0);
    builder.run(TraceBuilder::delay(1, "work", begin, duration_ns, 10 * ms, 10, 10));
    return builder;
}

// A cause whose only other thread is 10, and that of the delay's own thread.
analysis::DelayCauses with_link(const analysis::CauseLink& link) {
    analysis::DelayCauses causes;
    causes.who.tid = 10;
    causes.wall_ns = 100;
    analysis::DelayCause& cause = causes.causes.emplace_back();
    cause.doing.time_ns = 100;
    cause.chain.push_back(link);
    return causes;
}

std::string strip_of(std::int64_t begin, std::uint64_t duration_ns) {
    const TraceBuilder builder = preempted(begin, duration_ns);
    const auto recording = builder.decode();
    EXPECT_TRUE(recording.ok());
    const json::array chain =
        delay_chain_json(*recording, recording->system.delays.at(0), with_link({}));
    return text(chain.at(0).at("strip"));
}

TEST(DelayChain, EachLinkSaysWhatItsThreadDidWhileTheLastOneWaited) {
    const TraceBuilder builder = chain_of_locks();
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok());
    const trace::Delay& delay = recording->system.delays.at(0);
    const analysis::DelayCauses causes = analysis::causes_of_delay(*recording, delay);
    const json::array chain = delay_chain_json(*recording, delay, causes);
    ASSERT_EQ(chain.size(), 3U);
    struct Link {
        int tid;
        const char *thread, *state, *function;
        std::uint64_t whole_ns, time_ns;
        std::string strip;
    };
    const std::vector<Link> links = {
        {11, "first", "blocked", "first_wants_b", 273 * ms, 271 * ms,
         "c" + std::string(238, 'b') + "c"},
        {12, "second", "blocked", "second_wants_c", 271 * ms, 270 * ms,
         std::string(238, 'b') + "cc"},
        {13, "third", "on CPU", "third_holds_c", 270 * ms, 270 * ms, std::string(240, 'c')}};
    for (std::size_t i = 0; i < 3; ++i) {
        const json::object& found = chain[i].as_object();
        EXPECT_EQ(found.at("pid").to_number<int>(), 10);
        EXPECT_EQ(text(found.at("process")), causes.who.process);
        EXPECT_EQ(found.at("tid").to_number<int>(), links[i].tid);
        EXPECT_EQ(found.at("thread"), links[i].thread);
        EXPECT_EQ(found.at("whole_ns").to_number<std::uint64_t>(), links[i].whole_ns);
        EXPECT_EQ(found.at("state"), links[i].state);
        EXPECT_EQ(found.at("function"), links[i].function);
        EXPECT_EQ(found.at("time_ns").to_number<std::uint64_t>(), links[i].time_ns);
        EXPECT_EQ(found.at("likely"), false);
        EXPECT_EQ(text(found.at("strip")), links[i].strip);
    }
    EXPECT_EQ(text(chain[0].at("reason")), causes.causes[0].doing.reason);
    EXPECT_EQ(chain[2].at("reason"), "");
}

TEST(DelayChain, ALinkMayBeUncertainAndUnknown) {
    const TraceBuilder builder = preempted(100 * ms, 100);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok());
    analysis::CauseLink link;
    link.who.tid = 20;
    link.who.thread = std::string(2000, 't');
    link.who.process = std::string(2000, 'p');
    link.whole_ns = 5;
    link.likely = true;
    const trace::Delay& delay = recording->system.delays.at(0);
    const json::array chain = delay_chain_json(*recording, delay, with_link(link));
    ASSERT_EQ(chain.size(), 2U);
    EXPECT_EQ(chain[0].at("likely"), false);
    EXPECT_EQ(chain[1].at("likely"), true);
    EXPECT_EQ(chain[1].at("state"), "unknown");
    EXPECT_EQ(chain[1].at("time_ns").to_number<int>(), 0);
    EXPECT_EQ(chain[1].at("whole_ns").to_number<int>(), 5);
    EXPECT_EQ(chain[1].at("thread").as_string().size(), 1024U);
    EXPECT_EQ(chain[1].at("process").as_string().size(), 1024U);
}

TEST(DelayChain, IsThatOfTheLongestReportedCauseWithOtherThreads) {
    const TraceBuilder builder = preempted(100 * ms, 100);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok());
    const trace::Delay& delay = recording->system.delays.at(0);
    analysis::DelayCauses causes;
    causes.wall_ns = 100;
    causes.causes.resize(3);
    causes.causes[0].doing.time_ns = 70;
    causes.causes[1].doing.time_ns = 20;
    causes.causes[2].doing.time_ns = 10;
    EXPECT_TRUE(delay_chain_json(*recording, delay, causes).empty());
    analysis::CauseLink link;
    link.who.tid = 2;
    causes.causes[1].chain = {link};
    link.who.tid = 3;
    causes.causes[2].chain = {link};
    const json::array chain = delay_chain_json(*recording, delay, causes);
    ASSERT_EQ(chain.size(), 2U);
    EXPECT_EQ(chain[0].at("time_ns").to_number<int>(), 20);
    EXPECT_EQ(chain[1].at("tid").to_number<int>(), 2);
    // One that the report does not mention has no chain either.
    causes.causes.resize(2);
    causes.causes[0].doing.time_ns = 97;
    causes.causes[1].doing.time_ns = 3;
    ASSERT_EQ(causes.reported(), 1U);
    EXPECT_TRUE(delay_chain_json(*recording, delay, causes).empty());
}

TEST(DelayChain, AStripHasTheLongestStateOfEachPart) {
    // 240 ms in 240 parts of little more than a millisecond.
    const std::string strip = strip_of(100 * ms, 240 * ms);
    ASSERT_EQ(strip.size(), 240U);
    EXPECT_EQ(strip.find_first_not_of('c'), 50U);
    EXPECT_EQ(strip.find_first_not_of('r', 50), 150U);
    EXPECT_EQ(strip.find_first_not_of('c', 150), std::string::npos);
}

TEST(DelayChain, AStripIsUnknownWhereNothingWasRecorded) {
    const std::string strip = strip_of(-100 * static_cast<std::int64_t>(ms), 240 * ms);
    ASSERT_EQ(strip.size(), 240U);
    EXPECT_EQ(strip.substr(0, 100), std::string(100, 'u'));
    EXPECT_EQ(strip.substr(102, 130), std::string(130, 'c'));
}

TEST(DelayChain, AShortDelayHasAPartForEachNanosecond) {
    EXPECT_EQ(strip_of(100 * ms, 100), std::string(100, 'c'));
    EXPECT_EQ(strip_of(100 * ms, 239), std::string(239, 'c'));
    EXPECT_EQ(strip_of(100 * ms, 240), std::string(120, 'c'));
}

}  // namespace
}  // namespace lagtrap::server::delay_chain_test
