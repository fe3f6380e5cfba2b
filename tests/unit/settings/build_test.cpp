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

TEST(BuildSettings, WhatIsShedIsInTheGivenOrder) {
    EXPECT_THAT(built("<budget shed='events stages stacks times history samples switches'/>")
                    .settings.budget.shed,
                ElementsAre(Shed::Events, Shed::Stages, Shed::Stacks, Shed::Times, Shed::History,
                            Shed::Samples, Shed::Switches));
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
