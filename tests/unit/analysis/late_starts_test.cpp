// Waits for threads that were started while they were awaited.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/cause_sentences.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::late_starts_test {
namespace {

using test::sentences_of;
using test::TraceBuilder;
using testing::AllOf;
using testing::HasSubstr;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr auto at = [](std::uint64_t time) { return static_cast<std::int64_t>(time); };

// A server that starts thread 31 for each connection, at `start`; it answers at 230 ms.
std::string wait_for_started(std::uint64_t start, const std::string& creator = "server") {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.process(30, "/usr/bin/" + creator).thread(30, 30, creator);
    builder.process(31, "/usr/bin/server").thread(31, 31, "server");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 30);
    builder.samples(2 * ms, start, 1, 30, 30, {"main", "load_certificates"});
    builder.created(start, 1, 30, 31).switched(start + ms, 1, 30, 1, 31);
    builder.samples(start + ms, 300 * ms, 1, 31, 31, {"main", "serve_client"});
    builder.switched(20 * ms, 0, 10, 1, 0)
        .off_cpu(20 * ms, 10, 10, {"main", "fetch", "recv", "k:tcp_recvmsg", "k:schedule"});
    builder.caused_waking(230 * ms, 1, 31, 10, 1).switched(230 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 210 * ms, 10 * ms, 10, 10));
    return sentences_of(builder).at(0);
}

TEST(LateStarts, StandForTheThreadThatStartedThem) {
    EXPECT_THAT(wait_for_started(200 * ms),
                HasSubstr(", until server (31), started after 180 ms by server (30), woke it; "
                          "meanwhile server (30) computed for 180 ms in load_certificates"));
}

TEST(LateStarts, WhoWasThereForHalfOfTheWaitStandsForItself) {
    EXPECT_THAT(wait_for_started(125 * ms),
                HasSubstr("until server (31), started after 105 ms by server (30), woke it"));
    EXPECT_THAT(wait_for_started(124 * ms),
                AllOf(HasSubstr("until server (31) woke it"), HasSubstr("in serve_client")));
}

TEST(LateStarts, ALaterThreadOfTheSameNumberIsNotMeant) {
    EXPECT_THAT(wait_for_started(240 * ms), HasSubstr("until server (31) woke it"));
}

TEST(LateStarts, AShellThatStartsAnotherProgramIsNotWhatTheWaitWasFor) {
    EXPECT_THAT(wait_for_started(200 * ms, "sh"), HasSubstr("until server (31) woke it"));
}

}  // namespace
}  // namespace lagtrap::analysis::late_starts_test
