#include "trace/merge/run_details.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace lagtrap::trace::run_details_test {
namespace {

lagtrap_run run_of(std::uint32_t tid, std::uint64_t begin_ns) {
    lagtrap_run run{};
    run.begin_tid = tid;
    run.begin_ns = run.begin_hit_ns = begin_ns;
    return run;
}

lagtrap_run_so_far so_far(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t until_ns,
                          std::uint64_t on_cpu_ns) {
    lagtrap_run_so_far record{};
    record.begin_tid = record.tid = tid;
    record.begin_hit_ns = record.from_ns = begin_ns;
    record.until_ns = until_ns;
    record.parts.on_cpu_ns = on_cpu_ns;
    return record;
}

lagtrap_trace_text trace_text(std::uint32_t tid, std::uint64_t begin_ns, const char* text) {
    lagtrap_trace_text record{};
    record.begin_tid = tid;
    record.begin_hit_ns = begin_ns;
    std::strncpy(record.text, text, sizeof(record.text) - 1);
    record.bytes = static_cast<std::uint8_t>(std::strlen(text) + 1);
    return record;
}

TEST(RunDetails, what_was_told_first_of_a_run_counts) {
    RunDetails details(10);
    details.take(so_far(7, 100, 300, 50));
    details.take(so_far(7, 100, 200, 40));
    details.take(so_far(7, 100, 250, 45));
    Delay delay, other;
    details.tell(run_of(7, 100), delay);
    details.tell(run_of(7, 101), other);
    EXPECT_EQ(delay.so_far.tid, 7);
    EXPECT_EQ(delay.so_far.on_cpu_ns, 40);
    EXPECT_EQ(other.so_far.tid, 0);
}

TEST(RunDetails, names_of_traces_are_read_or_shown_as_they_are) {
    RunDetails details(2);
    details.take(trace_text(7, 100, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    details.take(trace_text(8, 100, "no trace"));
    details.take(trace_text(9, 100, "one too many"));
    Delay named, odd, none;
    details.tell(run_of(7, 100), named);
    details.tell(run_of(8, 100), odd);
    details.tell(run_of(9, 100), none);
    EXPECT_EQ(named.trace.trace_id, "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(odd.no_trace, "no trace");
    EXPECT_TRUE(none.no_trace.empty());
}

TEST(RunDetails, runs_are_told_apart_by_event_thread_and_first_hit) {
    RunDetails details(10);
    details.take(so_far(7, 100, 200, 40));
    details.take(trace_text(7, 100, "no trace"));
    lagtrap_run begun_before = run_of(7, 100), other_event = run_of(7, 100);
    begun_before.begin_ns = 60;
    other_event.event = 1;
    Delay delay, event, thread;
    details.tell(begun_before, delay);
    details.tell(other_event, event);
    details.tell(run_of(8, 100), thread);
    EXPECT_EQ(delay.so_far.tid, 7U);
    EXPECT_EQ(delay.no_trace, "no trace");
    for (const Delay& other : {event, thread}) {
        EXPECT_EQ(other.so_far.tid, 0U);
        EXPECT_EQ(other.no_trace, "");
    }
}

TEST(RunDetails, an_empty_name_of_a_trace_is_none_and_the_first_counts) {
    RunDetails details(10);
    details.take(trace_text(7, 100, ""));
    details.take(trace_text(7, 100, "a\n"));
    details.take(trace_text(7, 100, "b"));
    Delay delay;
    details.tell(run_of(7, 100), delay);
    EXPECT_EQ(delay.no_trace, "a\\x0a");
}

}  // namespace
}  // namespace lagtrap::trace::run_details_test
