// Which recordings and delays `lagtrap report` and `lagtrap export` show, and where.
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/commands.hpp"
#include "formats/format_table.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::cli::report_command_test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using test::TraceBuilder;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t ms = TraceBuilder::ms;

class ReportCommand : public testing::Test {
  protected:
    // A capture with delays of these lengths.
    std::string capture(const std::string& name, const std::vector<std::uint64_t>& delays_ms,
                        std::uint64_t began_s = 1'700'000'000) {
        TraceBuilder builder(900 * ms, 1);
        builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(0, 0, 0, 0, 10);
        builder.samples(0, 890 * ms, 0, 10, 10, {"main", "in_" + name});
        std::uint64_t id = 0;
        for (const std::uint64_t length_ms : delays_ms) {
            ++id;
            auto delay = TraceBuilder::delay(id, name, static_cast<std::int64_t>(id * ms),
                                             length_ms * ms, 50 * ms, 10, 10);
            delay.process = delay.thread = "app";
            builder.run(delay);
        }
        builder.system.session_id = "3f0c1c5e-0000-4000-8000-00000000000a";
        builder.system.started_realtime_ns = began_s * 1'000'000'000;
        test::write_capture(builder, folder_.path() / name);
        return folder_.string(name);
    }
    static test::Outcome report(std::vector<std::string> words) {
        words.insert(words.begin(), "report");
        words.insert(words.end(), {"--spool", "/no/such/spool"});
        return test::run_lagtrap(words);
    }
    test::TemporaryFolder folder_;
};

TEST_F(ReportCommand, DelaysOfOneAreNumberedFromOne) {
    const std::string query = capture("query", {100, 300});
    EXPECT_EQ(report({query, "--delay", "1"}).code, 0);
    EXPECT_EQ(report({query, "--delay", "2"}).code, 0);
    EXPECT_THAT(report({query, "--delay", "2"}).out, HasSubstr("300 ms"));
    for (const char* number : {"0", "3"}) {
        const auto outcome = report({query, "--delay", number});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_EQ(outcome.err,
                  std::string("lagtrap: there is no delay ") + number + "; the recording has 2\n");
    }
}

TEST_F(ReportCommand, NamesTheContainerHoweverLongItsImageIs) {
    const std::string container = "container 31d733c1c2f0 shop-of-the-world image ";
    const std::string image = "registry.example/team/application-program:latest";
    TraceBuilder builder(900 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    auto delay = TraceBuilder::delay(1, "work", 1 * ms, 300 * ms, 50 * ms, 10, 10);
    delay.unit = container + image;
    builder.run(delay);
    test::write_capture(builder, folder_.path() / "boxed");
    EXPECT_THAT(report({folder_.string("boxed")}).out,
                HasSubstr("\n  unit      container 31d733c1c2f0 shop-of-the-world image\n" +
                          std::string(12, ' ') + image + "\n"));
}

TEST_F(ReportCommand, OfSeveralListsAllAndShowsTheNewest) {
    const std::string old = capture("older", {300}), young = capture("newer", {100}, 1'700'000'100);
    const auto outcome = report({old, young});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto title = outcome.out.find("The newest delay");
    ASSERT_NE(title, std::string::npos) << outcome.out;
    EXPECT_THAT(outcome.out.substr(0, title),
                testing::AllOf(HasSubstr("older"), HasSubstr("newer")));
    EXPECT_THAT(outcome.out.substr(title), HasSubstr("in_newer"));
    EXPECT_THAT(outcome.out.substr(title), Not(HasSubstr("in_older")));
    const auto slowest = report({old, young, "--slowest"});
    const auto longest = slowest.out.find("The longest delay");
    ASSERT_NE(longest, std::string::npos) << slowest.out;
    EXPECT_THAT(slowest.out.substr(longest), HasSubstr("in_older"));
}

TEST_F(ReportCommand, OfSeveralANumberIsThatOfTheList) {
    const std::string old = capture("older", {300}), young = capture("newer", {100}, 1'700'000'100);
    const auto first = report({old, young, "--delay", "1"});
    EXPECT_THAT(first.out, HasSubstr("in_newer"));
    EXPECT_THAT(first.out, Not(HasSubstr("older"))) << "without the list";
    EXPECT_THAT(report({old, young, "--delay", "2"}).out, HasSubstr("in_older"));
    for (const char* number : {"0", "3"})
        EXPECT_EQ(report({old, young, "--delay", number}).err,
                  std::string("lagtrap: there is no delay ") + number + "; the list has 2\n");
}

TEST_F(ReportCommand, OfSeveralAsJsonHasTheReportAsAMember) {
    const std::string old = capture("older", {300}), young = capture("newer", {100}, 1'700'000'100);
    const auto whole = json::parse(report({old, young, "--json"}).out);
    EXPECT_EQ(whole.at("report"), json::parse(report({young, "--json", "--delay", "1"}).out));
    const auto one = json::parse(report({old, young, "--json", "--delay", "2"}).out);
    EXPECT_EQ(one, json::parse(report({old, "--json", "--delay", "1"}).out));
    const std::string none = capture("none", {}), nothing = capture("nothing", {});
    EXPECT_TRUE(json::parse(report({none, nothing, "--json"}).out).at("report").is_null());
    EXPECT_THAT(report({none, nothing}).out, Not(HasSubstr("The newest delay")));
}

TEST_F(ReportCommand, OneThatCannotBeReadIsAFailureAfterTheOthers) {
    const std::string query = capture("query", {100});
    test::write_text(folder_.string("torn.lagtrap.tar.zst"), "no bundle");
    const std::string torn = folder_.string("torn.lagtrap.tar.zst");
    const auto outcome = report({query, torn});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, testing::AllOf(HasSubstr("in_query"), HasSubstr("torn")));
    EXPECT_EQ(report({query, torn, "--html", folder_.string("page.html")}).code, 1);
    EXPECT_TRUE(fs::exists(folder_.string("page.html")));
    EXPECT_EQ(report({torn}).code, 1);
    EXPECT_THAT(report({torn}).err, StartsWith("lagtrap: "));
}

TEST_F(ReportCommand, PagesHaveTheReportAndTheList) {
    const std::string old = capture("older", {300}), young = capture("newer", {100}, 1'700'000'100);
    const std::string file = folder_.string("page.html");
    const auto single = report({old, "--html", file});
    EXPECT_EQ(single.code, 0) << single.err;
    EXPECT_EQ(single.out, "");
    EXPECT_THAT(test::text_of_file(file), testing::AllOf(HasSubstr("in_older"), HasSubstr("300 ms"),
                                                         Not(HasSubstr("newer"))));
    EXPECT_EQ(report({old, young, "--html", file}).code, 0);
    EXPECT_THAT(test::text_of_file(file),
                testing::AllOf(HasSubstr("in_newer"), HasSubstr("older")));
    EXPECT_EQ(report({old, young, "--delay", "2", "--html", file}).code, 0);
    EXPECT_THAT(test::text_of_file(file),
                testing::AllOf(HasSubstr("in_older"), Not(HasSubstr("newer"))));
    const auto failed = report({old, "--html", folder_.string("none/page.html")});
    EXPECT_EQ(failed.code, 1);
    EXPECT_THAT(failed.err, HasSubstr("none/page.html"));
    EXPECT_EQ(report({old, young, "--html", folder_.string("none/page.html")}).code, 1);
    EXPECT_EQ(report({capture("empty", {}), "--html", file}).code, 0);
    EXPECT_EQ(report({old, "--html", file, "--json"}).code, 2);
}

TEST_F(ReportCommand, WithoutAnArgumentTheNewestOfTheSpoolOrAllOfIt) {
    const auto add = [&](const std::string& name, std::uint64_t length_ms) {
        const std::string folder = capture(name, {length_ms});
        fs::create_directories(folder_.path() / "spool/ready");
        const auto made = trace::write_bundle(folder, "3f0c1c5e-0000-4000-8000-00000000000a",
                                              folder_.path() / "spool/ready");
        EXPECT_TRUE(made) << made.error().message;
        return made->path;
    };
    const fs::path old = add("older", 300), young = add("newer", 100);
    fs::last_write_time(old, fs::last_write_time(young) - std::chrono::hours(1));
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"report", "--spool", folder_.string("spool")});
        return test::run_lagtrap(words).out;
    };
    EXPECT_THAT(run({}), testing::AllOf(HasSubstr("in_newer"), Not(HasSubstr("older"))));
    EXPECT_THAT(run({"--slowest"}), testing::AllOf(HasSubstr("in_older"), HasSubstr("newer")));
    EXPECT_EQ(report({}).code, 1);
}

TEST_F(ReportCommand, ReadsTwoHundredAtMostWithoutAll) {
    fs::create_directories(folder_.path() / "many");
    for (int i = 0; i < 201; ++i)
        test::write_text(folder_.string("many/" + std::to_string(i) + ".lagtrap.tar.zst"), "");
    const auto read = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {folder_.string("many"), "--json"});
        return json::parse(report(words).out).at("unreadable").as_array().size();
    };
    EXPECT_EQ(read({}), 200U);
    EXPECT_EQ(read({"--all"}), 201U);
}

TEST_F(ReportCommand, SaysOnATerminalThatItReadsMany) {
    const auto notice = [&](int count, bool terminal) {
        const std::string folder = folder_.string("many" + std::to_string(count));
        fs::create_directories(folder);
        for (int i = 0; i < count; ++i)
            test::write_text(folder + "/" + std::to_string(i) + ".lagtrap.tar.zst", "");
        std::ostringstream out, err;
        Console console{out, err, Paint(false), 80, terminal};
        ReportOptions options;
        options.bundles = {folder};
        EXPECT_EQ(show_report(options, console), 1);
        return err.str();
    };
    EXPECT_EQ(notice(11, true), "Reading 11 recordings ...\n");
    EXPECT_EQ(notice(11, false), "");
    EXPECT_EQ(notice(10, true), "");
}

class ExportCommand : public ReportCommand {
  protected:
    static test::Outcome export_as(const std::string& recording, std::vector<std::string> words) {
        words.insert(words.begin(), {"export", recording});
        return test::run_lagtrap(words);
    }
};

TEST_F(ExportCommand, ListsItsFormats) {
    const auto outcome = test::run_lagtrap({"export", "--list-formats"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, formats::list_formats());
    EXPECT_EQ(test::run_lagtrap({"export", "--format", "nonsense"}).code, 2);
    std::ostringstream out, err;
    Console console{out, err, Paint(false)};
    ExportOptions options;
    options.format = "nonsense";
    EXPECT_EQ(export_recording(options, console), 1);
    EXPECT_EQ(err.str(), "lagtrap: unknown format \"nonsense\"\n");
}

TEST_F(ExportCommand, EveryFormatRefusesWhatItCannotUse) {
    const std::string query = capture("query", {100});
    for (const formats::Format& format : formats::formats()) {
        const std::string name(format.name);
        const bool whole = format.encode == nullptr && format.encode_delays == nullptr;
        const bool delays = format.encode_delays != nullptr;
        for (const std::vector<std::string>& words :
             {std::vector<std::string>{"--thread", "10"}, {"--on-cpu"}, {"--off-cpu"}, {"--all"}}) {
            auto all = words;
            all.insert(all.end(), {"--format", name});
            const auto outcome = export_as(query, all);
            if (whole)
                EXPECT_EQ(outcome.err, "lagtrap: --format " + name +
                                           " exports the whole recording; it does not accept "
                                           "--delay, --thread, --on-cpu, --off-cpu and --all\n");
            if (delays)
                EXPECT_EQ(outcome.err, "lagtrap: --format " + name +
                                           " exports whole delays; it does not accept --thread, "
                                           "--on-cpu, --off-cpu and --all\n");
            EXPECT_EQ(outcome.code, whole || delays ? 2 : 0) << name << outcome.err;
        }
        EXPECT_EQ(export_as(query, {"--format", name, "--delay", "1"}).code, whole ? 2 : 0) << name;
        EXPECT_EQ(export_as(query, {"--format", name}).code, 0) << name;
    }
}

TEST_F(ExportCommand, WholeRecordingsAreTheirFiles) {
    const std::string query = capture("query", {100});
    EXPECT_EQ(export_as(query, {"--format", "pftrace"}).out,
              test::text_of_file(query + "/trace.pftrace"));
    for (const formats::Format& format : formats::formats())
        if (format.encode == nullptr && format.encode_delays == nullptr && format.name != "pftrace")
            EXPECT_EQ(export_as(query, {"--format", std::string(format.name)}).out,
                      test::text_of_file(query + "/system.xml"));
}

TEST_F(ExportCommand, ChoosesDelayThreadAndTime) {
    const std::string query = capture("query", {100, 300});
    const auto text = [&](const std::vector<std::string>& words) {
        return export_as(query, words).out;
    };
    EXPECT_THAT(text({"--on-cpu"}), HasSubstr("main;in_query "));
    EXPECT_NE(text({"--delay", "1"}), text({"--delay", "2"}));
    EXPECT_EQ(text({"--off-cpu"}).find("in_query"), std::string::npos);
    EXPECT_EQ(export_as(query, {"--thread", "11"}).code, 1);
    EXPECT_EQ(export_as(query, {"--thread", "app"}).code, 0);
    EXPECT_EQ(export_as(query, {"--delay", "3"}).code, 1);
    EXPECT_EQ(export_as(query, {"--on-cpu", "--off-cpu"}).code, 2);
}

TEST_F(ExportCommand, WritesToAFileOrStandardOutput) {
    const std::string query = capture("query", {100}), file = folder_.string("out");
    const auto outcome = export_as(query, {"-o", file});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(test::text_of_file(file), export_as(query, {}).out);
    EXPECT_EQ(export_as(query, {"-o", folder_.string("none/out")}).code, 1);
    std::ostringstream out, err;
    ExportOptions options;
    options.bundle = query;
    options.format = "pftrace";
    Console terminal{out, err, Paint(false), 80, true};
    EXPECT_EQ(export_recording(options, terminal), 2);
    EXPECT_EQ(err.str(), "lagtrap: --format pftrace is binary; name a file with --output\n");
    EXPECT_EQ(out.str(), "");
    options.output = file;
    EXPECT_EQ(export_recording(options, terminal), 0);
    options.output.clear();
    Console full{out, err, Paint(false)};
    out.setstate(std::ios::badbit);
    EXPECT_EQ(export_recording(options, full), 1);
    EXPECT_THAT(err.str(), HasSubstr("cannot write to standard output"));
    EXPECT_EQ(export_as(folder_.string("none.pftrace"), {}).code, 1);
}

}  // namespace
}  // namespace lagtrap::cli::report_command_test
