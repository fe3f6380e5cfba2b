// Whole screens of `lagtrap live`, compared with tests/data/cli/live_screens.txt.
#include "cli/status/live_view.hpp"

#include <cstdlib>
#include <ctime>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::live_view_test {
namespace {

namespace json = boost::json;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t noon_ns = 43'200 * second;

// An event with `count` runs of 1 to 2 ms, of which `delays` were delays.
json::object event_of(const std::string& name, std::uint64_t count, std::uint64_t delays) {
    return {{"name", name},
            {"armed", true},
            {"threshold_ns", 50'000'000},
            {"runs", count},
            {"delays", delays},
            {"timed",
             {{"ns", count * 1'000'000},
              {"on_cpu_ns", count * 500'000},
              {"runnable_ns", count * 200'000}}},
            {"histogram",
             json::array{{{"from_ns", 1'000'000}, {"to_ns", 2'000'000}, {"count", count}}}}};
}

json::object answer_of(json::array events, const char* more = "{}") {
    json::object answer{{"version", "0.1.0"},
                        {"state", "waiting"},
                        {"started_realtime_ns", noon_ns - 90 * second},
                        {"cost", {{"memory_bytes", 31 << 20}}},
                        {"budget", {{"used_ppm", 12'000}}},
                        {"captures", {{"done", 3}}},
                        {"events", std::move(events)}};
    const json::value added = json::parse(more);
    for (const auto& member : added.as_object()) answer[member.key()] = member.value();
    return answer;
}

class LiveView : public testing::Test {
  protected:
    LiveView() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }
    ~LiveView() override {
        ::unsetenv("TZ");
        ::tzset();
    }
    void add(const std::string& about, const LiveState& state, ScreenSize size = {80, 16},
             const std::string& message = "") {
        shown_ += "# " + about + "\n";
        for (const std::string& line : state.screen(Paint(false), size, message))
            shown_ += line + "\n";
    }
    std::string shown_;
};

TEST_F(LiveView, ScreensAreWhole) {
    LiveState state;
    (void)state.take(answer_of({}), 0, noon_ns);
    add("no events", state);
    LiveState busy;
    (void)busy.take(answer_of({event_of("query", 1'000, 1), event_of("other", 5, 0)}), 0, noon_ns);
    add("the first answer", busy, {80, 16}, "a message");
    json::object off = event_of("other", 5, 0);
    off["armed"] = false;
    const char* const recording =
        R"({"state":"recording","capture":{"session":"s","event":"query","seconds_left":7.5}})";
    EXPECT_FALSE(busy.take(answer_of({event_of("query", 3'000, 5), off}, recording), 10 * second,
                           noon_ns + 10 * second));
    busy.choose(1);
    EXPECT_EQ(busy.chosen(), "other");
    add("delays, a recording, and an event that is off", busy);
    EXPECT_TRUE(
        busy.take(answer_of({event_of("query", 3'010, 6)}, R"({"last_bundle":{"session":"s"}})"),
                  12 * second, noon_ns + 12 * second));
    EXPECT_EQ(busy.chosen(), "query");
    trace::SystemFile system;
    system.started_realtime_ns = noon_ns + 5 * second;
    system.started_boottime_ns = 100 * second;
    trace::Delay delay;
    delay.event = "query";
    delay.process = "app";
    delay.begin_tid = 42;
    delay.begin_ns = 101 * second;
    delay.duration_ns = second / 4;
    system.delays = {delay, delay};
    system.delays[1].open = true;
    busy.add_delays(system);
    add("its report", busy);
    busy.fail("lagtrapd is not running");
    add("the daemon is gone", busy, {60, 16});
    json::array many;
    for (int i = 0; i < 9; ++i) many.push_back(event_of("event" + std::to_string(i), 1, 0));
    LiveState crowd;
    (void)crowd.take(
        answer_of(many,
                  R"({"state":"confirming","pending":{"event":"event3","seconds_left":30.0}})"),
        0, noon_ns);
    add("more events than lines, and a question", crowd);
    crowd.choose(7);
    add("the selection stays visible", crowd);
    LiveState refused;
    (void)refused.take(answer_of({}, R"({"settings":{"reload_error":"2 errors"}})"), 0, noon_ns);
    add("settings that were refused", refused);
    test::expect_text(shown_, "live_screens.txt");
}

}  // namespace
}  // namespace lagtrap::cli::live_view_test
