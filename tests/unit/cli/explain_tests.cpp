// The output of `lagtrap explain` for an event in each of its states.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/programs/program_processes.hpp"
#include "cli/reports/explanation.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::explain_tests {
namespace {

using boost::json::object;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

object marker(const char* role, std::uint64_t hits) {
    return {{"role", role},         {"marker", std::string("USDT probe app:") + role},
            {"binary", "/opt/app"}, {"hits", hits},
            {"unmatched", 0},       {"last_realtime_ns", nullptr}};
}

object event_of(std::uint64_t begins, std::uint64_t ends, std::uint64_t runs) {
    return {{"name", "query"},
            {"threshold_ns", 50'000'000},
            {"nesting", "each"},
            {"key", "thread"},
            {"armed", true},
            {"hits", begins + ends},
            {"runs", runs},
            {"max_ns", 9'000'000},
            {"histogram",
             boost::json::array{{{"from_ns", 1'000'000}, {"to_ns", 2'000'000}, {"count", runs}}}},
            {"markers", boost::json::array{marker("begin", begins), marker("end", ends)}}};
}

Explanation explained(const object& event, const ProgramProcesses& processes = {},
                      object answer = {}) {
    answer["events"] = boost::json::array{event};
    return explain(answer, event, {{"/opt/app", processes}});
}

ProgramProcess process_of(int pid, const char* path) {
    ProgramProcess process;
    process.pid = pid;
    process.path = path;
    return process;
}

std::vector<std::string> kinds_of(const Explanation& explanation) {
    std::vector<std::string> kinds;
    for (const auto& finding : explanation.findings) kinds.push_back(finding.kind);
    return kinds;
}

TEST(Explain, SaysWhatIsWatched) {
    EXPECT_EQ(explained(event_of(5, 5, 5)).event,
              "query: from USDT probe app:begin in /opt/app to USDT probe app:end, paired by "
              "thread, nesting \"each\"; runs longer than 50.0 ms");
}

TEST(Explain, WhyItIsNotWatched) {
    object event = event_of(0, 0, 0);
    event["armed"] = false;
    event["problem"] = "/opt/app has no USDT probe app:begin";
    auto found = explained(event);
    EXPECT_THAT(kinds_of(found), ElementsAre("not-armed"));
    EXPECT_THAT(found.findings[0].sentence, HasSubstr("/opt/app has no USDT probe app:begin"));
    event["disabled"] = true;
    event["again_in_seconds"] = 42.0;
    found = explained(event);
    EXPECT_THAT(kinds_of(found), ElementsAre("disabled"));
    EXPECT_THAT(found.findings[0].sentence, HasSubstr("Retry in 42"));
}

TEST(Explain, WhoRunsTheProgram) {
    EXPECT_THAT(kinds_of(explained(event_of(0, 0, 0))), ElementsAre("no-process"));
    ProgramProcesses processes;
    processes.found = {process_of(77, "/usr/bin/app")};
    processes.found[0].elsewhere = true;
    processes.found[0].control_group = "docker-4f.scope";
    auto found = explained(event_of(0, 0, 0), processes);
    EXPECT_THAT(kinds_of(found), ElementsAre("other-file"));
    EXPECT_THAT(found.findings[0].sentence, HasSubstr("/usr/bin/app (process 77, in a container"));
    EXPECT_THAT(found.findings[0].sentence, HasSubstr("docker-4f.scope"));
    EXPECT_THAT(found.findings[0].next, HasSubstr("binary=\"*/app\""));
    processes.found = {process_of(77, "/opt/app")};
    processes.found[0].deleted = true;
    EXPECT_THAT(explained(event_of(0, 0, 0), processes).findings[0].next,
                HasSubstr("Restart the program"));
    processes.found.push_back(process_of(78, "/opt/app"));
    processes.found.back().same_file = true;
    found = explained(event_of(0, 0, 0), processes);
    EXPECT_THAT(kinds_of(found), ElementsAre("not-reached"));
    EXPECT_THAT(found.findings[0].next, HasSubstr("list-markers 78"));
}

TEST(Explain, RunsThatAreFastAndRunsThatAreNot) {
    auto found = explained(event_of(1000, 1000, 1000));
    EXPECT_THAT(kinds_of(found), ElementsAre("hits", "fast"));
    EXPECT_THAT(found.findings[1].sentence,
                HasSubstr("All 1,000 runs were below the threshold of 50.0 ms"));
    EXPECT_THAT(found.findings[1].sentence, HasSubstr("the longest 9.00 ms"));
    EXPECT_THAT(explained(event_of(3, 3, 3)).findings[1].next, HasSubstr("few"));
    object event = event_of(1000, 1000, 1000);
    event["delays"] = 2;
    event["recordings"] = 1;
    EXPECT_THAT(kinds_of(explained(event)), ElementsAre("hits", "delays", "recordings"));
}

TEST(Explain, PairingRoomAndRest) {
    object event = event_of(20, 0, 0);
    event["open"] = 20;
    event["pairing"] =
        boost::json::array{{{"kind", "no-end"}, {"sentence", "20 begins and not one end"}}};
    const auto found = explained(event);
    EXPECT_THAT(kinds_of(found), ElementsAre("hits", "no-end", "open"));
    EXPECT_EQ(found.findings[1].sentence, "20 begins and not one end.");
    EXPECT_THAT(found.findings[1].next, HasSubstr("Choose another end"));
    event = event_of(20, 20, 10);
    event["lost"] = 10;
    EXPECT_THAT(kinds_of(explained(event)), Contains("lost"));
    event = event_of(5, 5, 5);
    for (const char* const reason :
         {"cool-down", "hourly-limit", "event-share", "daily-limit", "questions"}) {
        event["without_recordings"] = {{"seconds_left", 12.0}, {"reason", reason}};
        EXPECT_THAT(kinds_of(explained(event)), Contains(reason));
    }
}

std::string threshold_text_of(object threshold, std::uint64_t threshold_ns = 84'000'000) {
    object event = event_of(500, 500, 500);
    threshold["rule"] = "p99.9 x 3";
    threshold["runs"] = 500;
    threshold.emplace("min_runs", 1000);
    threshold["captures"] = 2;
    threshold["captures_per_day"] = 12;
    threshold["watched_seconds"] = 7200.0;
    threshold["percentile_ns"] = 28'000'000;
    event["threshold_ns"] = threshold_ns;
    event["auto_threshold"] = std::move(threshold);
    const auto explanation = explained(event);
    for (const auto& finding : explanation.findings)
        if (finding.kind == "threshold") return finding.sentence;
    return {};
}

TEST(Explain, SaysWhyAThresholdIsWhatItIs) {
    EXPECT_EQ(threshold_text_of({{"reason", "percentile"}}),
              "Its threshold (p99.9 x 3) is 84.0 ms: p99.9 of 500 runs in 2 hours is 28.0 ms. Its "
              "delays started 2 of at most 12 recordings in the last 24 h.");
    EXPECT_THAT(threshold_text_of({{"reason", "capture-rate"}}),
                HasSubstr("p99.9 of 500 runs in 2 hours is 28.0 ms, but a smaller threshold would "
                          "have been exceeded more than 12 times a day."));
    EXPECT_THAT(threshold_text_of({{"reason", "floor"}}),
                HasSubstr("is 84.0 ms: its floor; p99.9 of 500 runs"));
    EXPECT_THAT(threshold_text_of({{"reason", "longest"}}), HasSubstr("the longest possible"));
    EXPECT_THAT(threshold_text_of({{"reason", "raised"}, {"base_ns", 21'000'000}}),
                HasSubstr("delays raised it from 21.0 ms"));
    EXPECT_THAT(threshold_text_of({{"reason", "step"}, {"target_ns", 300'000'000}}),
                HasSubstr("on its way to 300 ms, by at most a factor of 2 per hour"));
}

TEST(Explain, SaysWhatAThresholdWaitsFor) {
    const object learning{{"reason", "learning"}, {"learn_seconds_left", 1800.0}};
    EXPECT_THAT(threshold_text_of(learning, 3'600'000'000'000),
                HasSubstr("is not known yet: 500 of 1,000 runs, and 30 minutes of watching left. "
                          "Until then only runs longer than an hour are delays."));
    object with_enough_runs = learning;
    with_enough_runs["min_runs"] = 10;
    EXPECT_THAT(threshold_text_of(with_enough_runs, 3'600'000'000'000),
                HasSubstr("is not known yet: 30 minutes of watching left. Until then"));
    object event = event_of(500, 500, 500);
    event["auto_threshold"] = learning;
    const auto explanation = explained(event);
    EXPECT_THAT(explanation.event, HasSubstr("; its threshold is not known yet"));
    EXPECT_THAT(kinds_of(explanation), ElementsAre("hits", "threshold", "runs"));
    EXPECT_EQ(explanation.findings[2].sentence,
              "All 500 runs have ended: 99 % took at most 1.99 ms, the longest 9.00 ms.");
}

// A folder like /proc: process 7 runs the file, 8 a copy of it in another mount namespace, 9
// something else.
TEST(ProgramProcesses, TellsTheFileFromOthersOfItsName) {
    const test::TemporaryFolder folder;
    const std::filesystem::path root = folder.string("proc"), program = folder.string("app");
    const std::filesystem::path copy = folder.string("container/app"),
                                other = folder.string("other");
    std::filesystem::create_directories(copy.parent_path());
    for (const auto& file : {program, copy, other}) std::ofstream(file) << "x";
    const auto add = [&](const std::string& process, const std::filesystem::path& runs,
                         const char* view) {
        std::filesystem::create_directories(root / process / "ns");
        std::filesystem::create_symlink(runs, root / process / "exe");
        std::filesystem::create_symlink(view, root / process / "ns" / "mnt");
    };
    add("self", "/none", "mnt:[1]");
    add("7", program, "mnt:[1]");
    add("8", copy, "mnt:[2]");
    add("9", other, "mnt:[1]");
    add("10", program.string() + " (deleted)", "mnt:[1]");
    std::ofstream(root / "8" / "cgroup") << "0::/system.slice/docker-4f.scope\n";
    const auto found = processes_of(program, root).found;
    ASSERT_EQ(found.size(), 3U);
    EXPECT_TRUE(found[0].pid == 7 && found[0].same_file && !found[0].elsewhere);
    EXPECT_TRUE(found[1].pid == 8 && !found[1].same_file && found[1].elsewhere);
    EXPECT_EQ(found[1].control_group, "docker-4f.scope");
    EXPECT_TRUE(found[2].pid == 10 && !found[2].same_file && found[2].deleted);
    EXPECT_EQ(found[2].path, program.string());
}

// A library: no process runs it, but some have it mapped.
TEST(ProgramProcesses, WithoutAProgramHaveTheFileMapped) {
    const test::TemporaryFolder folder;
    const std::filesystem::path root = folder.string("proc"), library = folder.string("lib/a.so");
    std::filesystem::create_directories(library.parent_path());
    std::ofstream(library) << "x";
    const auto add = [&](const std::string& process, const std::string& path) {
        const auto own_root = root / process / "root";
        std::filesystem::create_directories(own_root);
        std::filesystem::create_symlink("/usr/bin/other", root / process / "exe");
        std::ofstream(root / process / "maps")
            << "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/b.so\n7f02-7f03 rw-p 0 00:00 0\n"
            << "7f04-7f05 r-xp 00000000 08:01 13 " << path << "\n";
        return own_root;
    };
    const auto same = add("7", library.string()) / library.parent_path().relative_path();
    std::filesystem::create_directories(same);
    std::filesystem::create_hard_link(library, same / "a.so");
    add("8", "/elsewhere/a.so (deleted)");
    add("9", "/usr/lib/not-a.so");
    const auto found = processes_of(library, root).found;
    ASSERT_EQ(found.size(), 2U);
    EXPECT_TRUE(found[0].pid == 7 && found[0].same_file && !found[0].deleted);
    EXPECT_EQ(found[0].path, library.string());
    EXPECT_TRUE(found[1].pid == 8 && !found[1].same_file && found[1].deleted);
    EXPECT_EQ(found[1].path, "/elsewhere/a.so");
    EXPECT_EQ(found[1].control_group, "");
    std::filesystem::create_directories(root / "10");
    std::filesystem::create_symlink(library, root / "10" / "exe");
    ASSERT_EQ(processes_of(library, root).found.size(), 1U) << "one that runs it is enough";
}

}  // namespace
}  // namespace lagtrap::cli::explain_tests
