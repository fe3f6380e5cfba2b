// Waits of one kind at different places are different causes.
#include "analysis/wait_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::wait_groups_test {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Stack = TraceBuilder::Stack;
constexpr std::uint64_t ms = TraceBuilder::ms;

Stack lock_in(const std::string& function) {
    return {"main",         "serve",     function, "!/usr/lib/libc.so.6!pthread_mutex_lock",
            "k:futex_wait", "k:schedule"};
}

// Thread 11 waits in one function until 12 wakes it, and then in the other until 13 does.
std::vector<std::string> sentences(const std::string& first, std::uint64_t first_ms,
                                   const std::string& second) {
    TraceBuilder builder(400 * ms, 4);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "worker");
    builder.thread(10, 12, "cleaner").thread(10, 13, "sorter");
    builder.switched(1 * ms, 0, 0, 0, 11)
        .switched(1 * ms, 1, 0, 0, 12)
        .switched(1 * ms, 2, 0, 0, 13);
    builder.samples(2 * ms, 300 * ms, 1, 10, 12, {"clean"})
        .samples(2 * ms, 300 * ms, 2, 10, 13, {"sort"});
    const std::uint64_t turn = 10 * ms + first_ms * ms;
    builder.switched(10 * ms, 0, 11, 1, 0).off_cpu(10 * ms, 10, 11, lock_in(first));
    builder.waking(turn, 1, 12, 11).switched(turn, 0, 0, 0, 11);
    builder.switched(turn + 1 * ms, 0, 11, 1, 0).off_cpu(turn + 1 * ms, 10, 11, lock_in(second));
    builder.waking(210 * ms, 2, 13, 11).switched(210 * ms, 0, 0, 0, 11);
    builder.run(TraceBuilder::delay(1, "work", 9 * ms, 202 * ms, 10 * ms, 10, 11));
    return sentences_of(builder);
}

TEST(WaitGroups, each_place_has_a_holder_of_its_own) {
    const auto found = sentences("open_file", 120, "add_entry");
    ASSERT_GE(found.size(), 2U);
    EXPECT_THAT(found.at(0),
                AllOf(StartsWith("Waited 120 ms (59 %) for a lock in open_file"),
                      HasSubstr("which cleaner (12) held; meanwhile cleaner (12) computed")));
    EXPECT_THAT(found.at(1),
                AllOf(StartsWith("Waited 79.0 ms (39 %) for a lock in add_entry"),
                      HasSubstr("which sorter (13) held; meanwhile sorter (13) computed")));
}

TEST(WaitGroups, a_short_wait_elsewhere_stays_with_the_longest) {
    EXPECT_THAT(sentences("open_file", 190, "add_entry").at(0),
                StartsWith("Waited 199 ms (99 %) for a lock in"));
}

TEST(WaitGroups, waits_in_one_function_are_one_cause) {
    EXPECT_THAT(sentences("open_file", 120, "open_file").at(0),
                StartsWith("Waited 199 ms (99 %) for a lock in"));
}

}  // namespace
}  // namespace lagtrap::analysis::wait_groups_test
