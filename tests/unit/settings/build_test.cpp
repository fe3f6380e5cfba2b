#include "settings/build.hpp"

#include <gmock/gmock.h>

#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::build_test {
namespace {

using namespace testing_files;
using namespace std::chrono_literals;
using testing::ElementsAre;

Built built(const std::string& inside) {
    const std::string text = "<lagtrap version='1'>" + inside + "</lagtrap>";
    const LineIndex index(text);
    Diagnostics diagnostics;
    const Element root = read_document(index, diagnostics).value();
    Built result = build_settings(root, diagnostics);
    EXPECT_EQ(format_diagnostics("a.xml", text, diagnostics.take()), "");
    return result;
}

TEST(BuildSettings, WhatIsDisabledIsInTheGivenOrder) {
    EXPECT_THAT(
        built("<budget disable='events stages stacks times history samples switches'/>")
            .settings.budget.disable,
        ElementsAre(BudgetPart::Events, BudgetPart::Stages, BudgetPart::Stacks, BudgetPart::Times,
                    BudgetPart::History, BudgetPart::Samples, BudgetPart::Switches));
    EXPECT_EQ(built("<budget open-runs='9'/>").settings.budget.open_runs, 9U);
    EXPECT_EQ(built("<budget/>").settings.budget.open_runs, 0U);
}

TEST(BuildSettings, TheHistoryHasItsOwnIntervals) {
    const History history =
        built("<history length='7s' sample-interval='8ms' early-share='3%' times='no'/>")
            .settings.history;
    EXPECT_EQ(history.length, 7s);
    EXPECT_EQ(history.sample_interval, 8ms);
    EXPECT_EQ(history.early_share_ppm, 30'000U);
    EXPECT_FALSE(history.times);
    EXPECT_TRUE(built("<history/>").settings.history.times);
    EXPECT_TRUE(built("<history times='yes'/>").settings.history.times);
}

TEST(BuildSettings, CommandLinesAreMaskedUnlessTheSettingsSayMore) {
    const auto lines = [](const std::string& attributes) {
        return built("<privacy " + attributes + "/>").settings.privacy.command_lines;
    };
    EXPECT_EQ(lines(""), CommandLines::Masked);
    EXPECT_EQ(lines("command-lines='masked'"), CommandLines::Masked);
    EXPECT_EQ(lines("command-lines='program'"), CommandLines::Program);
    EXPECT_EQ(lines("command-lines='all'"), CommandLines::All);
}

TEST(BuildSettings, CallersAreRootOrMore) {
    const Control usual = built("<control/>").settings.control;
    EXPECT_EQ(usual.read, Callers::Group);
    EXPECT_EQ(usual.change, Callers::Group);
    EXPECT_EQ(usual.trace, Callers::Root);
    const Control given =
        built("<control read='root' change='root' trace='group'/>").settings.control;
    EXPECT_EQ(given.read, Callers::Root);
    EXPECT_EQ(given.change, Callers::Root);
    EXPECT_EQ(given.trace, Callers::Group);
    EXPECT_EQ(built("<control read='anyone'/>").settings.control.read, Callers::Anyone);
}

TEST(BuildSettings, ServerAndCollectorAreTwo) {
    const Settings settings = built(
                                  "<upload url='https://a' timeout='7s'/>"
                                  "<otlp url='http://localhost:4318' token-file='/t' ca-file='/c' "
                                  "proxy='http://p:1'/>")
                                  .settings;
    ASSERT_TRUE(settings.upload && settings.otlp);
    EXPECT_EQ(settings.upload->url, "https://a");
    EXPECT_EQ(settings.upload->timeout, 7s);
    EXPECT_EQ(settings.upload->token_file, "");
    EXPECT_EQ(settings.otlp->url, "http://localhost:4318");
    EXPECT_EQ(settings.otlp->token_file, "/t");
    EXPECT_EQ(settings.otlp->ca_file, "/c");
    EXPECT_EQ(settings.otlp->proxy, "http://p:1");
    EXPECT_EQ(settings.otlp->timeout, 30s);
    EXPECT_FALSE(built("<upload url='https://a'/>").settings.otlp);
    EXPECT_FALSE(built("<otlp url='https://a'/>").settings.upload);
}

TEST(BuildSettings, EachValueComesFromItsAttribute) {
    const Settings settings =
        built(
            "<recording sample-interval='2ms' cool-down='3s' captures-per-hour='4' "
            "capture-size-limit='50MB' merge-limit='6min' stack-copies='7MB' scheduling='no'/>"
            "<auto-threshold floor='8ms' min-runs='900' learn='10h' quiet='11h' "
            "captures-per-day='12'/>"
            "<unwinding memory='13MB' cache='/cache' cache-limit='140MB'/>"
            "<runs batch-interval='15s' batch-size='160kB' limit-per-second='17'/>"
            "<budget share='18%' recording-share='19%' interval='20s' pause='21s'/>"
            "<confirm wait='22s'/>"
            "<spool path='/spool' size-limit='230MB' age-limit='24d' keep-sent-runs='25h'/>")
            .settings;
    constexpr std::uint64_t mb = 1'000'000;
    EXPECT_EQ(settings.recording.sample_interval, 2ms);
    EXPECT_EQ(settings.recording.cool_down, 3s);
    EXPECT_EQ(settings.recording.captures_per_hour, 4U);
    EXPECT_EQ(settings.recording.capture_size_limit_bytes, 50 * mb);
    EXPECT_EQ(settings.recording.merge_limit, 6min);
    EXPECT_EQ(settings.recording.stack_copies_bytes, 7 * mb);
    EXPECT_FALSE(settings.recording.scheduling);
    EXPECT_EQ(settings.auto_threshold.floor, 8ms);
    EXPECT_EQ(settings.auto_threshold.min_runs, 900U);
    EXPECT_EQ(settings.auto_threshold.learn, 10h);
    EXPECT_EQ(settings.auto_threshold.quiet, 11h);
    EXPECT_EQ(settings.auto_threshold.captures_per_day, 12U);
    EXPECT_EQ(settings.unwinding.memory_bytes, 13 * mb);
    EXPECT_EQ(settings.unwinding.cache_path, "/cache");
    EXPECT_EQ(settings.unwinding.cache_limit_bytes, 140 * mb);
    EXPECT_EQ(settings.runs.batch_interval, 15s);
    EXPECT_EQ(settings.runs.batch_size_bytes, 160'000U);
    EXPECT_EQ(settings.runs.limit_per_second, 17U);
    EXPECT_EQ(settings.budget.share_ppm, 180'000U);
    EXPECT_EQ(settings.budget.recording_share_ppm, 190'000U);
    EXPECT_EQ(settings.budget.interval, 20s);
    EXPECT_EQ(settings.budget.pause, 21s);
    EXPECT_EQ(settings.confirm.value_or(Confirm{}).wait, 22s);
    EXPECT_EQ(settings.spool.path, "/spool");
    EXPECT_EQ(settings.spool.size_limit_bytes, 230 * mb);
    EXPECT_EQ(settings.spool.age_limit, 24h * 24);
    EXPECT_EQ(settings.spool.sent_runs_age, 25h);
}

// The packages create the default ones.
TEST(BuildSettings, OnlyGivenFoldersMustBeThere) {
    const MachineSources usual = built("<spool/><control/>").sources;
    EXPECT_FALSE(usual.spool || usual.socket);
    EXPECT_TRUE(usual.groups.empty());
    const MachineSources given =
        built("<spool path='/srv/s'/><control socket='/run/x.sock' group='adm'/>").sources;
    ASSERT_TRUE(given.spool && given.socket);
    EXPECT_EQ(given.spool->path, "/srv/s");
    EXPECT_EQ(given.spool->place.column, 29U);
    EXPECT_EQ(given.socket->path, "/run/x.sock");
    ASSERT_EQ(given.groups.size(), 1U);
    EXPECT_EQ(given.groups[0].name, "adm");
}

}  // namespace
}  // namespace lagtrap::settings::build_test
