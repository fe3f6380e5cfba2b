// Time in signal handlers, which interrupt whatever a thread does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::signal_handler_tests {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Stack = TraceBuilder::Stack;
constexpr std::uint64_t ms = TraceBuilder::ms;
const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";

// Thread 11 computes for 200 ms, of which `usual_ms` in the loop and the rest in `stack`.
std::string sentence(std::uint64_t usual_ms, const Stack& stack) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    builder.switched(1 * ms, 0, 0, 0, 11);
    builder.samples(10 * ms, (10 + usual_ms) * ms, 0, 10, 11, {"main", "request", "hash"});
    builder.samples((10 + usual_ms) * ms, 210 * ms, 0, 10, 11, stack);
    builder.run(TraceBuilder::delay(1, "work", 10 * ms, 200 * ms, 10 * ms, 10, 11));
    return sentences_of(builder).at(0);
}

TEST(SignalHandler, its_name_is_in_the_sentence) {
    EXPECT_THAT(sentence(20, {"main", "request", "hash", libc + "__restore_rt", "on_alarm",
                              "flush_statistics", "merge"}),
                StartsWith("Computed for 200 ms (100 %) in merge, in the signal handler "
                           "on_alarm."));
    EXPECT_THAT(sentence(20, {"main", "request", "hash", libc + "__restore_rt", "on_alarm"}),
                HasSubstr(" in on_alarm, a signal handler."));
}

TEST(SignalHandler, what_it_calls_is_no_recursion) {
    EXPECT_THAT(
        sentence(20, {"main", "request", "hash", libc + "__restore_rt", "on_alarm", "hash"}),
        HasSubstr(" in hash, in the signal handler on_alarm."));
}

TEST(SignalHandler, a_short_one_is_not_mentioned) {
    EXPECT_THAT(sentence(150, {"main", "request", "hash", libc + "__restore_rt", "on_alarm"}),
                Not(HasSubstr("signal handler")));
}

}  // namespace
}  // namespace lagtrap::analysis::signal_handler_tests
