#include "cli/command_arguments.hpp"

#include <algorithm>
#include <cstdlib>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>

namespace lagtrap::cli::command_arguments_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;
using Flags = std::vector<bool>;

class CommandArguments : public testing::Test {
  protected:
    CommandArguments() {
        for (const char* name :
             {"LAGTRAP_SOCKET", "LAGTRAP_SPOOL", "LAGTRAP_SERVER", "LAGTRAP_TOKEN_FILE"})
            ::unsetenv(name);
    }
    ~CommandArguments() override {
        for (const char* name :
             {"LAGTRAP_SOCKET", "LAGTRAP_SPOOL", "LAGTRAP_SERVER", "LAGTRAP_TOKEN_FILE"})
            ::unsetenv(name);
    }
    // Fills `choice_`; false if the words are refused.
    bool accepts(const std::string& line) {
        choice_ = Choice{};
        CLI::App app;
        app.require_subcommand(1);
        add_commands(app, choice_);
        Texts words = CLI::detail::split(line, ' ');
        std::reverse(words.begin(), words.end());
        try {
            app.parse(words);
        } catch (const CLI::ParseError&) {
            return false;
        }
        EXPECT_TRUE(choice_.run) << line;
        return true;
    }
    Choice choice_;
};

TEST_F(CommandArguments, OfWhyGoWhereTheyBelong) {
    const auto texts = [this] {
        const WhyOptions& why = choice_.why;
        return Texts{why.target, why.length, why.limit, why.output, why.socket};
    };
    const auto flags = [this] {
        return Flags{choice_.why.all, choice_.why.json, choice_.why.watch};
    };
    ASSERT_TRUE(accepts("why shop --for 1s --limit 2s -o file --socket s"));
    EXPECT_THAT(texts(), ElementsAre("shop", "1s", "2s", "file", "s"));
    EXPECT_EQ(flags(), (Flags{false, false, false}));
    ASSERT_TRUE(accepts("why shop --all"));
    EXPECT_THAT(texts(), ElementsAre("shop", "5s", "60s", "", default_socket));
    EXPECT_EQ(flags(), (Flags{true, false, false}));
    ASSERT_TRUE(accepts("why shop --json"));
    EXPECT_EQ(flags(), (Flags{false, true, false}));
    ASSERT_TRUE(accepts("why shop --watch"));
    EXPECT_EQ(flags(), (Flags{false, false, true}));
    EXPECT_FALSE(accepts("why shop --watch -o file"));
    EXPECT_FALSE(accepts("why"));
}

TEST_F(CommandArguments, OfWatchGoWhereTheyBelong) {
    const auto texts = [this] {
        const WatchOptions& watch = choice_.watch;
        return Texts{watch.function, watch.usdt, watch.syscall, watch.preset,
                     watch.in,       watch.over, watch.socket};
    };
    ASSERT_TRUE(
        accepts("watch --function f --usdt u --syscall y --preset p --in i --over 5ms "
                "--count 7 --socket s"));
    EXPECT_THAT(texts(), ElementsAre("f", "u", "y", "p", "i", "5ms", "s"));
    EXPECT_EQ(choice_.watch.count, 7U);
    EXPECT_FALSE(choice_.watch.full || choice_.watch.save);
    ASSERT_TRUE(accepts("watch --full"));
    EXPECT_TRUE(choice_.watch.full && !choice_.watch.save);
    ASSERT_TRUE(accepts("watch --save"));
    EXPECT_TRUE(choice_.watch.save && !choice_.watch.full);
    EXPECT_THAT(texts(), ElementsAre("", "", "", "", "", "", default_socket));
    EXPECT_EQ(choice_.watch.count, 1U);
    EXPECT_TRUE(accepts("watch --count 1000"));
    EXPECT_FALSE(accepts("watch --count 1001"));
    EXPECT_FALSE(accepts("watch --count 0"));
}

TEST_F(CommandArguments, OfDoctorGoWhereTheyBelong) {
    ASSERT_TRUE(accepts("doctor --settings t --socket s"));
    EXPECT_EQ(choice_.doctor.settings, "t");
    EXPECT_EQ(choice_.doctor.socket, "s");
    EXPECT_FALSE(choice_.doctor.server || choice_.doctor.json);
    ASSERT_TRUE(accepts("doctor --server"));
    EXPECT_EQ(choice_.doctor.settings, default_settings);
    EXPECT_EQ(choice_.doctor.socket, default_socket);
    EXPECT_TRUE(choice_.doctor.server && !choice_.doctor.json);
    ASSERT_TRUE(accepts("doctor --json"));
    EXPECT_TRUE(choice_.doctor.json && !choice_.doctor.server);
}

TEST_F(CommandArguments, OfAddGoWhereTheyBelong) {
    const auto texts = [this] {
        const AddOptions& add = choice_.add;
        return Texts{add.target, add.length, add.threshold, add.prefix, add.settings, add.socket};
    };
    const auto flags = [this] {
        return Flags{choice_.add.functions, choice_.add.write, choice_.add.json};
    };
    ASSERT_TRUE(
        accepts("add shop --for 1s --choose 3 --threshold 5ms --prefix eu- --settings t "
                "--socket s"));
    EXPECT_THAT(texts(), ElementsAre("shop", "1s", "5ms", "eu-", "t", "s"));
    EXPECT_EQ(choice_.add.choose, 3U);
    EXPECT_EQ(flags(), (Flags{false, false, false}));
    ASSERT_TRUE(accepts("add shop --functions"));
    EXPECT_THAT(texts(), ElementsAre("shop", "5s", "", "", default_settings, default_socket));
    EXPECT_EQ(choice_.add.choose, 0U);
    EXPECT_EQ(flags(), (Flags{true, false, false}));
    ASSERT_TRUE(accepts("add shop --write"));
    EXPECT_EQ(flags(), (Flags{false, true, false}));
    ASSERT_TRUE(accepts("add shop --json"));
    EXPECT_EQ(flags(), (Flags{false, false, true}));
    EXPECT_TRUE(accepts("add shop --choose 1000"));
    EXPECT_FALSE(accepts("add shop --choose 1001"));
    EXPECT_FALSE(accepts("add shop --choose 0"));
    EXPECT_FALSE(accepts("add"));
}

TEST_F(CommandArguments, OfSettingsCommandsGoWhereTheyBelong) {
    ASSERT_TRUE(accepts("check file --json"));
    EXPECT_EQ(choice_.check.file, "file");
    EXPECT_TRUE(choice_.check.json && !choice_.check.reference && !choice_.check.schema);
    ASSERT_TRUE(accepts("check --reference"));
    EXPECT_EQ(choice_.check.file, default_settings);
    EXPECT_TRUE(choice_.check.reference && !choice_.check.json && !choice_.check.schema);
    ASSERT_TRUE(accepts("check --schema"));
    EXPECT_TRUE(choice_.check.schema && !choice_.check.json && !choice_.check.reference);
    EXPECT_FALSE(accepts("check --schema --json"));
    EXPECT_FALSE(accepts("check --schema --reference"));
    EXPECT_FALSE(accepts("check --reference --json"));
    ASSERT_TRUE(accepts("rehearse new --settings old"));
    EXPECT_EQ(choice_.rehearse.file, "new");
    EXPECT_EQ(choice_.rehearse.settings, "old");
    EXPECT_FALSE(choice_.rehearse.json);
    ASSERT_TRUE(accepts("rehearse new --json"));
    EXPECT_EQ(choice_.rehearse.settings, default_settings);
    EXPECT_TRUE(choice_.rehearse.json);
    EXPECT_FALSE(accepts("rehearse"));
    ASSERT_TRUE(accepts("presets nginx"));
    EXPECT_EQ(choice_.presets.name, "nginx");
    EXPECT_FALSE(choice_.presets.json);
    ASSERT_TRUE(accepts("presets --json"));
    EXPECT_EQ(choice_.presets.name, "");
    EXPECT_TRUE(choice_.presets.json);
}

TEST_F(CommandArguments, OfListMarkersGoWhereTheyBelong) {
    const auto flags = [this] {
        const MarkerOptions& markers = choice_.markers;
        return Flags{markers.functions, markers.tracepoints, markers.json};
    };
    ASSERT_TRUE(accepts("list-markers shop"));
    EXPECT_EQ(choice_.markers.target, "shop");
    EXPECT_EQ(flags(), (Flags{false, false, false}));
    ASSERT_TRUE(accepts("list-markers --functions"));
    EXPECT_EQ(flags(), (Flags{true, false, false}));
    ASSERT_TRUE(accepts("list-markers --tracepoints"));
    EXPECT_EQ(flags(), (Flags{false, true, false}));
    ASSERT_TRUE(accepts("list-markers --json"));
    EXPECT_EQ(flags(), (Flags{false, false, true}));
    EXPECT_FALSE(accepts("list-markers --tracepoints --functions"));
}

TEST_F(CommandArguments, OfCommandsThatTalkToTheDaemonGoWhereTheyBelong) {
    for (const std::string command :
         {"status", "metrics", "explain e", "trigger e", "approve", "decline"}) {
        ASSERT_TRUE(accepts(command + " --socket s --json")) << command;
        EXPECT_EQ(choice_.control.socket, "s");
        EXPECT_TRUE(choice_.control.json);
        ASSERT_TRUE(accepts(command)) << command;
        EXPECT_EQ(choice_.control.socket, default_socket);
        EXPECT_FALSE(choice_.control.json || choice_.control.wait);
        EXPECT_EQ(choice_.control.event, command.ends_with(" e") ? "e" : "");
        EXPECT_EQ(choice_.control.output, "");
    }
    ASSERT_TRUE(accepts("metrics -o file"));
    EXPECT_EQ(choice_.control.output, "file");
    ASSERT_TRUE(accepts("trigger e --wait"));
    EXPECT_TRUE(choice_.control.wait && !choice_.control.json);
    EXPECT_FALSE(accepts("trigger"));
    EXPECT_FALSE(accepts("explain"));
}

TEST_F(CommandArguments, OfAskAndLiveGoWhereTheyBelong) {
    EXPECT_FALSE(accepts("ask --socket s")) << "without a command after --";
    EXPECT_EQ(choice_.ask.socket, "s");
    EXPECT_FALSE(choice_.ask.tell);
    EXPECT_FALSE(accepts("ask --tell"));
    EXPECT_EQ(choice_.ask.socket, default_socket);
    EXPECT_TRUE(choice_.ask.tell);
    ASSERT_TRUE(accepts("live --socket s --spool d --interval 60"));
    EXPECT_EQ(choice_.live.socket, "s");
    EXPECT_EQ(choice_.live.spool, "d");
    EXPECT_EQ(choice_.live.interval, std::chrono::seconds(60));
    ASSERT_TRUE(accepts("live"));
    EXPECT_EQ(choice_.live.socket, default_socket);
    EXPECT_EQ(choice_.live.spool, default_spool);
    EXPECT_EQ(choice_.live.interval, std::chrono::seconds(1));
}

TEST_F(CommandArguments, OfReportGoWhereTheyBelong) {
    const auto flags = [this] {
        return Flags{choice_.report.slowest, choice_.report.json, choice_.report.all};
    };
    ASSERT_TRUE(accepts("report a b --spool d --delay 3 --html page"));
    EXPECT_THAT(choice_.report.bundles, ElementsAre("a", "b"));
    EXPECT_EQ(choice_.report.spool, "d");
    EXPECT_EQ(choice_.report.delay, std::optional<std::size_t>(3));
    EXPECT_EQ(choice_.report.html, "page");
    EXPECT_EQ(flags(), (Flags{false, false, false}));
    ASSERT_TRUE(accepts("report --slowest"));
    EXPECT_THAT(choice_.report.bundles, IsEmpty());
    EXPECT_EQ(choice_.report.spool, default_spool);
    EXPECT_EQ(choice_.report.delay, std::nullopt);
    EXPECT_EQ(choice_.report.html, "");
    EXPECT_EQ(flags(), (Flags{true, false, false}));
    ASSERT_TRUE(accepts("report --json"));
    EXPECT_EQ(flags(), (Flags{false, true, false}));
    ASSERT_TRUE(accepts("report --all"));
    EXPECT_EQ(flags(), (Flags{false, false, true}));
}

TEST_F(CommandArguments, OfExportGoWhereTheyBelong) {
    const auto texts = [this] {
        const ExportOptions& options = choice_.exports;
        return Texts{options.bundle, options.spool, options.format, options.thread, options.output};
    };
    ASSERT_TRUE(accepts("export a --spool d --delay 3 --format csv --thread t -o file"));
    EXPECT_THAT(texts(), ElementsAre("a", "d", "csv", "t", "file"));
    EXPECT_EQ(choice_.exports.delay, std::optional<std::size_t>(3));
    EXPECT_EQ(choice_.exports.time, std::nullopt);
    EXPECT_FALSE(choice_.exports.list);
    ASSERT_TRUE(accepts("export --list-formats"));
    EXPECT_THAT(texts(), ElementsAre("", default_spool, "folded", "", ""));
    EXPECT_EQ(choice_.exports.delay, std::nullopt);
    EXPECT_TRUE(choice_.exports.list);
    ASSERT_TRUE(accepts("export --on-cpu"));
    EXPECT_EQ(choice_.exports.time, formats::TimeChoice::OnCpu);
    ASSERT_TRUE(accepts("export --off-cpu"));
    EXPECT_EQ(choice_.exports.time, formats::TimeChoice::OffCpu);
    ASSERT_TRUE(accepts("export --all"));
    EXPECT_EQ(choice_.exports.time, formats::TimeChoice::All);
    EXPECT_FALSE(accepts("export --all --on-cpu"));
    EXPECT_FALSE(accepts("export --all --off-cpu"));
}

TEST_F(CommandArguments, OfUploadGoWhereTheyBelong) {
    const auto texts = [this] {
        const UploadOptions& upload = choice_.upload;
        return Texts{upload.settings, upload.spool, upload.uploader};
    };
    ASSERT_TRUE(accepts("upload a b --settings t --spool d"));
    EXPECT_THAT(choice_.upload.bundles, ElementsAre("a", "b"));
    EXPECT_THAT(texts(), ElementsAre("t", "d", ""));
    ASSERT_TRUE(accepts("upload"));
    EXPECT_THAT(choice_.upload.bundles, IsEmpty());
    EXPECT_THAT(texts(), ElementsAre(default_settings, "", ""));
}

TEST_F(CommandArguments, OfRunsGoWhereTheyBelong) {
    const auto texts = [this] {
        const RunsOptions& runs = choice_.runs;
        return Texts{runs.event, runs.since, runs.stage, runs.from,
                     runs.to,    runs.spool, runs.socket};
    };
    ASSERT_TRUE(accepts("runs e --since 1d --from a --to b --spool d --socket s"));
    EXPECT_THAT(texts(), ElementsAre("e", "1d", "", "a", "b", "d", "s"));
    EXPECT_FALSE(choice_.runs.slowest || choice_.runs.json);
    ASSERT_TRUE(accepts("runs e --stage g --slowest"));
    EXPECT_THAT(texts(), ElementsAre("e", "1h", "g", "", "", default_spool, default_socket));
    EXPECT_TRUE(choice_.runs.slowest && !choice_.runs.json);
    ASSERT_TRUE(accepts("runs e --json"));
    EXPECT_TRUE(choice_.runs.json && !choice_.runs.slowest);
    EXPECT_FALSE(accepts("runs e --stage g --from a"));
    EXPECT_FALSE(accepts("runs e --stage g --to b"));
    EXPECT_FALSE(accepts("runs"));
}

TEST_F(CommandArguments, OfFetchGoWhereTheyBelong) {
    const auto texts = [this] {
        const FetchOptions& fetch = choice_.fetch;
        return Texts{fetch.server, fetch.token_file, fetch.ca_file, fetch.event,
                     fetch.host,   fetch.cause,      fetch.since,   fetch.folder};
    };
    ASSERT_TRUE(
        accepts("fetch --server u --token-file t --ca c --event e --host h --cause x "
                "--since 1d --limit 5 -o f"));
    EXPECT_THAT(texts(), ElementsAre("u", "t", "c", "e", "h", "x", "1d", "f"));
    EXPECT_EQ(choice_.fetch.limit, 5U);
    EXPECT_FALSE(choice_.fetch.json);
    ASSERT_TRUE(accepts("fetch --server u --json"));
    EXPECT_THAT(texts(), ElementsAre("u", "", "", "", "", "", "", "."));
    EXPECT_EQ(choice_.fetch.limit, 20U);
    EXPECT_TRUE(choice_.fetch.json);
    EXPECT_TRUE(accepts("fetch --server u --limit 1000"));
    EXPECT_FALSE(accepts("fetch --server u --limit 1001"));
    EXPECT_FALSE(accepts("fetch --server u --limit 0"));
    EXPECT_FALSE(accepts("fetch"));
}

TEST_F(CommandArguments, OfSymbolizeGoWhereTheyBelong) {
    const auto texts = [this] {
        const SymbolizeOptions& options = choice_.symbolize;
        return Texts{options.bundle, options.spool, options.output};
    };
    ASSERT_TRUE(accepts("symbolize --debug-dir x --debug-dir y a --spool d -o file"));
    EXPECT_THAT(texts(), ElementsAre("a", "d", "file"));
    EXPECT_THAT(choice_.symbolize.debug_folders, ElementsAre("x", "y"));
    EXPECT_FALSE(choice_.symbolize.debuginfod || choice_.symbolize.json);
    ASSERT_TRUE(accepts("symbolize --debuginfod"));
    EXPECT_THAT(texts(), ElementsAre("", default_spool, ""));
    EXPECT_TRUE(choice_.symbolize.debuginfod && !choice_.symbolize.json);
    ASSERT_TRUE(accepts("symbolize --json"));
    EXPECT_TRUE(choice_.symbolize.json && !choice_.symbolize.debuginfod);
}

TEST_F(CommandArguments, SomeComeFromTheEnvironment) {
    ::setenv("LAGTRAP_SOCKET", "s", 1);
    ::setenv("LAGTRAP_SPOOL", "d", 1);
    ::setenv("LAGTRAP_SERVER", "u", 1);
    ::setenv("LAGTRAP_TOKEN_FILE", "t", 1);
    const auto after = [this](const char* line) -> const Choice& {
        EXPECT_TRUE(accepts(line)) << line;
        return choice_;
    };
    EXPECT_EQ(after("why p").why.socket, "s");
    EXPECT_EQ(after("watch").watch.socket, "s");
    EXPECT_EQ(after("doctor").doctor.socket, "s");
    EXPECT_EQ(after("add p").add.socket, "s");
    EXPECT_EQ(after("trigger e").control.socket, "s");
    EXPECT_EQ(after("live").live.socket, "s");
    EXPECT_EQ(after("live").live.spool, "d");
    EXPECT_EQ(after("runs e").runs.socket, "s");
    EXPECT_EQ(after("runs e").runs.spool, "d");
    EXPECT_EQ(after("export").exports.spool, "d");
    EXPECT_EQ(after("report").report.spool, "d");
    EXPECT_EQ(after("symbolize").symbolize.spool, "d");
    EXPECT_EQ(after("upload").upload.spool, "d");
    EXPECT_EQ(after("fetch").fetch.server, "u");
    EXPECT_EQ(after("fetch").fetch.token_file, "t");
    EXPECT_EQ(after("calls --process p --function f").calls.socket, "s");
    EXPECT_EQ(after("functions --process p").functions.socket, "s");
    EXPECT_EQ(after("objects --process p").objects.socket, "s");
    EXPECT_EQ(after("why p --socket own").why.socket, "own");
    (void)accepts("ask");
    EXPECT_EQ(choice_.ask.socket, "s");
}

}  // namespace
}  // namespace lagtrap::cli::command_arguments_test
