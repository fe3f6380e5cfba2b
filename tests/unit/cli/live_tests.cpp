// `lagtrap live`: figures of the last seconds, and lines that fit the screen.
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/console/text_layout.hpp"
#include "cli/status/live_view.hpp"

namespace lagtrap::cli::live_tests {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

// `fast` runs of 0 to 1 ms and `slow` runs of 200 to 202 ms; half of a run's time is on a CPU.
boost::json::object answer(std::uint64_t fast, std::uint64_t slow,
                           const std::string& more = "\"state\":\"waiting\"") {
    const std::uint64_t time_ns = fast * 500'000 + slow * 201'000'000;
    const std::string event =
        R"({"name":"work","armed":true,"threshold_ns":50000000,"runs":)" +
        std::to_string(fast + slow) + ",\"delays\":" + std::to_string(slow) + R"(,"timed":{"ns":)" +
        std::to_string(time_ns) + ",\"on_cpu_ns\":" + std::to_string(time_ns / 2) +
        R"(,"runnable_ns":0},"histogram":[)" + R"({"from_ns":0,"to_ns":1000000,"count":)" +
        std::to_string(fast) + R"(},{"from_ns":200000000,"to_ns":202000000,"count":)" +
        std::to_string(slow) + "}]}";
    return boost::json::parse(R"({"ok":true,"version":"0.1.0","started_realtime_ns":0,"events":[)" +
                              event + "]," + more + "}")
        .as_object();
}

std::string all_of(const LiveState& state, ScreenSize size = {}) {
    std::string text;
    for (const std::string& line : state.screen(Paint(false), size, "")) text += line + "\n";
    return text;
}

TEST(Live, figures_are_those_of_the_last_seconds) {
    LiveState state;
    EXPECT_FALSE(state.take(answer(1'000'000, 5), 0, 0));
    EXPECT_EQ(state.events()[0].recent.runs, 0);
    EXPECT_THAT(
        all_of(state),
        testing::HasSubstr(
            "> work              50.0 ms      0.0       5        -        -       -       -\n"));
    EXPECT_THAT(all_of(state), testing::HasSubstr("no delays since start"));
    // The same in each second; what is older than ten seconds does not count.
    for (std::uint64_t at = 1; at <= 30; ++at)
        (void)state.take(answer(1'000'000 + at * 10, 5 + at), at * second, at * second);
    EXPECT_EQ(state.events()[0].recent.runs, 110);
    EXPECT_DOUBLE_EQ(state.events()[0].runs_per_second, 11);
    const std::string text = all_of(state);
    EXPECT_THAT(
        text,
        testing::HasSubstr(
            "> work              50.0 ms     11.0      35   550 us   202 ms    50 %    50 %\n"));
    EXPECT_THAT(text, testing::HasSubstr("work: 1 run over 50.0 ms\n"));
}

TEST(Live, counts_that_begin_anew_are_no_negative_rates) {
    LiveState state;
    (void)state.take(answer(1000, 5), 0, 0);
    (void)state.take(answer(20, 0), second, second);
    EXPECT_EQ(state.events()[0].recent.runs, 20);
    EXPECT_EQ(state.events()[0].recent.delays, 0);
}

TEST(Live, a_new_bundle_is_told_once) {
    LiveState state;
    const std::string bundle = R"("last_bundle":{"session":"a","path":"/x"})";
    EXPECT_FALSE(state.take(answer(1, 0, bundle), 0, 0));
    EXPECT_FALSE(state.take(answer(1, 0, bundle), second, second));
    EXPECT_TRUE(state.take(answer(1, 0, R"("last_bundle":{"session":"b","path":"/y"})"), 2 * second,
                           2 * second));
    trace::SystemFile system;
    trace::Delay delay;
    delay.event = "work";
    delay.duration_ns = 200 * 1'000'000;
    delay.process = "evil\x1b[2J";
    delay.begin_tid = 7;
    system.delays.push_back(delay);
    state.add_delays(system);
    EXPECT_THAT(all_of(state), testing::HasSubstr("work took 200 ms: evil\\x1b[2J (7)\n"));
    EXPECT_THAT(all_of(state), testing::HasSubstr("recorded 1 delay; r opens the report\n"));
}

TEST(Live, every_screen_is_full_and_none_is_wider) {
    std::string events;
    for (int i = 0; i < 60; ++i)
        events += (i > 0 ? "," : "") + std::string(R"({"name":"event-)") + std::to_string(i) +
                  R"(-\u0007äöü","armed":false})";
    LiveState state;
    (void)state.take(boost::json::parse(R"({"ok":true,"events":[)" + events + "]}").as_object(), 0,
                     0);
    for (int i = 0; i < 300; ++i) state.note(0, std::string(300, 'x'));
    state.choose(30);
    for (const ScreenSize size : {ScreenSize{80, 24}, ScreenSize{200, 60}, ScreenSize{20, 5},
                                  ScreenSize{1, 1}, ScreenSize{80, 2}}) {
        for (const bool colours : {false, true}) {
            const auto lines = state.screen(Paint(colours), size, "a message");
            EXPECT_EQ(lines.size(), size.rows);
            for (std::string line : lines) {
                for (auto at = line.find('\x1b'); at != std::string::npos; at = line.find('\x1b'))
                    line.erase(at, line.find('m', at) + 1 - at);
                EXPECT_LE(width_of(line), size.columns) << line;
            }
        }
    }
    EXPECT_THAT(all_of(state), testing::HasSubstr("> event-30-\\x07"));
    EXPECT_EQ(state.chosen(), "event-30-\\x07äöü");
    state.choose(-100);
    EXPECT_THAT(state.chosen(), testing::StartsWith("event-0-"));
    state.choose(1000);
    EXPECT_THAT(state.chosen(), testing::StartsWith("event-59-"));
    EXPECT_THAT(all_of(state), testing::HasSubstr("> event-59-"));
}

TEST(Live, says_what_the_daemon_asks_and_that_it_is_gone) {
    LiveState state;
    (void)state.take(answer(1, 0, R"("pending":{"event":"work","seconds_left":12.5})"), 0, 0);
    EXPECT_THAT(
        all_of(state),
        testing::HasSubstr(
            "asks whether to keep a recording of work, 12.5 s left: a approve, d decline\n"));
    state.fail("lagtrapd is not running");
    EXPECT_THAT(all_of(state), testing::HasSubstr("\nlagtrapd is not running\n"));
    (void)state.take(answer(1, 0), second, second);
    EXPECT_THAT(all_of(state), testing::HasSubstr("\nwaiting, 0 recordings made\n"));
}

}  // namespace
}  // namespace lagtrap::cli::live_tests
