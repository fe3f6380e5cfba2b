// Whole reports about the causes of few runs, compared with files of tests/data/server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/reports/causes.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::server::reports::cause_report_test {
namespace {

using analysis::ProfileLink;
using analysis::TimeKind;

constexpr std::uint64_t ms = 1'000'000;
// Nodes of a profile: main calls work, parse and load; the thread that holds the lock is in fill.
constexpr std::uint32_t in_work = 2, in_parse = 3, in_load = 4, in_fill = 5;
// Texts.
constexpr std::uint32_t lock = 1, refresher = 2, disk = 3, lost = 4, writer = 5;

struct Times {
    std::uint64_t work_ns = 10 * ms, parse_ns = 0, locked_ns = 0, disk_ns = 0, cpu_wait_ns = 0,
                  lost_ns = 0;
    std::uint32_t holder = refresher;
};

analysis::RunProfile profile_of(const Times& times) {
    analysis::RunProfile profile;
    profile.frames = {{"main", "/usr/bin/shop", false},
                      {"work", "/usr/bin/shop", false},
                      {"parse", "/usr/lib/libparse.so.2", false},
                      {"load", "/usr/bin/shop", false},
                      {"fill", "/usr/bin/shop", false}};
    profile.nodes = {{}, {0, 0}, {1, 1}, {1, 2}, {1, 3}, {0, 4}};
    profile.texts = {"", "lock (futex)", "refresher-1", "disk", "before the recording", "writer"};
    const auto add = [&](std::uint64_t time_ns, std::vector<ProfileLink> links) {
        if (time_ns == 0) return;
        profile.entries.push_back({time_ns, std::move(links)});
        profile.duration_ns += time_ns;
    };
    add(times.work_ns, {{TimeKind::OnCpu, 0, 0, in_work}});
    add(times.parse_ns, {{TimeKind::OnCpu, 0, 0, in_parse}});
    add(times.locked_ns,
        {{TimeKind::Blocked, lock, 0, in_load}, {TimeKind::OnCpu, 0, times.holder, in_fill}});
    add(times.disk_ns, {{TimeKind::Blocked, disk, 0, in_load}});
    add(times.cpu_wait_ns, {{TimeKind::Runnable, 0, 0, in_work}});
    add(times.lost_ns, {{TimeKind::Unknown, lost, 0, 0}});
    return profile;
}

// Four normal and four delayed runs on each of six hosts, which add_delayed() tells apart.
class CauseReports : public testing::Test {
  protected:
    template <typename Change>
    void add_runs(const Change& change, std::uint64_t hosts = 6) {
        for (std::uint64_t host = 0; host < hosts; ++host) {
            for (std::uint64_t i = 0; i < 8; ++i) {
                ProfiledRun run;
                run.delayed = i >= 4;
                run.host = "web-" + std::to_string(host);
                run.user = host < 4 ? "user-" + std::to_string(host % 3) : "";
                run.build = host < 2 ? "v2" : "v1";
                run.begin_realtime_ns = 1'000'000 + host * 1000 + i;
                if (run.delayed && host != 5) {
                    run.bundle = "bundle-" + std::to_string(host) + (i < 6 ? "a" : "b");
                    run.delay = static_cast<std::uint32_t>(i % 2 + 1);
                }
                Times times = usual_;
                times.work_ns += (host * 37 + i * 11) % 13 * ms / 100;
                if (run.delayed) change(times, host, i);
                finder_.add(run, profile_of(times));
            }
        }
    }
    static std::string text_of(const CauseReport& report) {
        std::string text = fmt::format(
            "{} delayed, {} normal, {} bundles, {} left out, {} cut, unexplained {:.4f}, {}\n",
            report.delayed_runs, report.normal_runs, report.bundles, report.runs_left_out,
            report.paths_cut, report.unexplained_share, report.silent_because.value_or("-"));
        for (const Cause& cause : report.causes) text += text_of(cause);
        return text;
    }
    static std::string text_of(const Cause& cause) {
        std::string text = fmt::format(
            "{} ({}) {} \"{}\" holder \"{}\"\n excess {} normal {} runs {} hosts {} users {} share "
            "{:.4f} p {:.3g} q {:.3g}{}\n",
            cause.title, cause.signature, analysis::to_text(cause.state), cause.reason,
            cause.holder, cause.excess_ns, cause.normal_ns, cause.affected_runs, cause.hosts,
            cause.users, cause.share, cause.p_value, cause.q_value,
            cause.single_host ? " single host" : "");
        for (const CauseFrame& frame : cause.frames)
            text += fmt::format(" frame {} {}\n", frame.function, frame.module);
        for (const CauseBuild& build : cause.builds)
            text += fmt::format(" build {}: {} runs, {} delayed, {} affected, {} ns\n", build.build,
                                build.runs, build.delayed, build.affected, build.excess_ns);
        for (const CauseDelay& delay : cause.delays)
            text += fmt::format(" delay {} {} {} {} at {}: {} ns {}\n", delay.bundle, delay.delay,
                                delay.host, delay.build, delay.begin_realtime_ns, delay.excess_ns,
                                delay.holder);
        if (cause.example)
            text += fmt::format(" example {} {}\n", cause.example->bundle, cause.example->delay);
        return text;
    }
    static void expect_file(const std::string& name, const CauseReport& report) {
        expect_text_of_file(test_data_folder() + "/server/" + name, text_of(report));
    }
    std::string silence() const { return finder_.find().silent_because.value_or("none"); }

    Times usual_;
    CauseFinder finder_;
};

TEST_F(CauseReports, OfAFunctionAndOfALockInOtherRunsAreWhole) {
    add_runs([](Times& times, std::uint64_t host, std::uint64_t i) {
        if (host < 4) times.parse_ns = (20 + host + i) * ms;
        if (host >= 3) times.locked_ns = (30 + 2 * host + i) * ms;
        if (i == 7) times.holder = writer;
    });
    expect_file("causes_of_few_runs.txt", finder_.find());
}

TEST_F(CauseReports, OfFewHostsSayThatTheyAre) {
    usual_.disk_ns = 2 * ms;
    add_runs([](Times& times, std::uint64_t, std::uint64_t i) { times.disk_ns = (25 + i) * ms; },
             2);
    expect_file("causes_of_two_hosts.txt", finder_.find());
}

TEST_F(CauseReports, OfABusyMachineNameNoFunction) {
    add_runs([](Times& times, std::uint64_t host, std::uint64_t) {
        times.cpu_wait_ns = (15 + host) * ms;
    });
    expect_file("causes_of_a_busy_machine.txt", finder_.find());
}

TEST_F(CauseReports, SayWhyTheyAreSilent) {
    EXPECT_EQ(silence(), "Delayed runs with a recording: 0; at least 5 are needed.");
    add_runs([](Times&, std::uint64_t, std::uint64_t) {}, 1);
    EXPECT_EQ(silence(), "Delayed runs with a recording: 4; at least 5 are needed.");
    for (int i = 0; i < 2; ++i) {
        ProfiledRun run;
        run.delayed = true;
        run.host = "other";
        finder_.add(run, profile_of({}));
    }
    EXPECT_EQ(silence(),
              "Normal runs in the recordings to compare with: 4; at least 5 are needed. A longer "
              "trace-length records more of them.");
}

TEST_F(CauseReports, OfDelaysThatTookNoLongerSayThat) {
    add_runs([](Times& times, std::uint64_t, std::uint64_t) { times.work_ns -= ms; });
    EXPECT_EQ(silence(),
              "The delayed runs did not take longer than the normal runs of the same hosts.");
}

TEST_F(CauseReports, OfDelaysThatWereRecordedInPartSaySo) {
    add_runs([](Times& times, std::uint64_t, std::uint64_t i) {
        if (i < 6) times.lost_ns = 40 * ms;
    });
    EXPECT_EQ(silence(),
              "What was recorded of the delayed runs is not longer than the normal runs of the "
              "same hosts: 12 of 24 were recorded in part.");
}

TEST_F(CauseReports, OfDelaysThatTookLongerInEverythingSaySo) {
    usual_.disk_ns = 8 * ms;
    add_runs([](Times& times, std::uint64_t, std::uint64_t) {
        times.work_ns *= 3;
        times.disk_ns *= 3;
    });
    EXPECT_EQ(silence(),
              "Nothing stands out: delayed runs spend their time where normal ones do, only more "
              "of it (Computes in main).");
}

TEST_F(CauseReports, CountWhatDidNotFit) {
    CauseOptions options;
    options.max_entries = 20;
    finder_ = CauseFinder(options);
    add_runs([](Times& times, std::uint64_t, std::uint64_t) { times.parse_ns = 20 * ms; });
    const CauseReport report = finder_.find();
    EXPECT_EQ(report.delayed_runs + report.normal_runs + report.runs_left_out, 48U);
    EXPECT_GT(report.runs_left_out, 30U);
    CauseOptions narrow;
    narrow.max_nodes = 3;
    finder_ = CauseFinder(narrow);
    add_runs([](Times& times, std::uint64_t, std::uint64_t) { times.parse_ns = 20 * ms; });
    EXPECT_GT(finder_.find().paths_cut, 20U);
}

TEST_F(CauseReports, HaveAsManyCausesAndTestsAsAskedFor) {
    const auto two_causes = [](Times& times, std::uint64_t host, std::uint64_t) {
        (host < 3 ? times.parse_ns : times.disk_ns) = 30 * ms;
    };
    CauseOptions options;
    options.max_causes = 1;
    finder_ = CauseFinder(options);
    add_runs(two_causes);
    EXPECT_EQ(finder_.find().causes.size(), 1U);
    options = {};
    options.highest_q = 0;
    finder_ = CauseFinder(options);
    add_runs(two_causes);
    EXPECT_EQ(silence(),
              "No function takes significantly more time in delayed runs than in normal ones.");
    options = {};
    options.min_runs = 25;
    finder_ = CauseFinder(options);
    add_runs(two_causes);
    EXPECT_EQ(silence(), "Delayed runs with a recording: 24; at least 25 are needed.");
}

}  // namespace
}  // namespace lagtrap::server::reports::cause_report_test
