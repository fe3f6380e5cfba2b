// `lagtrap objects` with a daemon that sends a prepared trace.
#include <unistd.h>

#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "calls/object_rule.hpp"
#include "calls/object_stream.hpp"
#include "core/files.hpp"
#include "spool/spool.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::cli::objects_command_test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using test::ScriptedDaemon;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string started_line() {
    calls::ObjectsStarted started;
    started.pid = 42;
    started.process = "shop";
    started.classes = {"page"};
    started.functions.resize(1);
    started.functions[0].function.name = "use";
    return json::serialize(calls::to_json(started));
}

std::string ended_line() {
    calls::ObjectsEnded ended;
    ended.reason = "the time is over";
    ended.length_ns = 2'000'000'000;
    ended.classes.resize(1);
    return json::serialize(calls::to_json(ended));
}

class ObjectsCommand : public testing::Test {
  protected:
    test::Outcome run(std::vector<std::string> words,
                      const std::vector<std::string>& lines = {started_line(), ended_line()}) {
        std::string text;
        for (const std::string& line : lines) text += line + "\n";
        words.insert(words.begin(), {"objects", "--process", std::to_string(::getpid())});
        return test::run_with_daemon(
            words,
            [=](const std::string&) {
                return ScriptedDaemon::Answer{text, true};
            },
            &asked_);
    }
    [[nodiscard]] json::object request() const { return json::parse(asked_.at(0)).as_object(); }
    test::TemporaryFolder folder_;
    std::vector<std::string> asked_;
};

TEST_F(ObjectsCommand, AsksForWhatTheOptionsSay) {
    const auto outcome = run({"--class", "Page"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(StartsWith("Objects of shop (42)\n"),
                                   HasSubstr("Ended after 2.00 s: the time is over")));
    json::object asked = request();
    const auto rules = asked.at("rules");
    asked.erase("rules");
    EXPECT_EQ(asked, (json::object{{"command", "objects"},
                                   {"pid", ::getpid()},
                                   {"budget_permille", 100},
                                   {"least_ns", 0},
                                   {"length_ns", 10'000'000'000},
                                   {"include", ""},
                                   {"exclude", ""},
                                   {"memory", 1},
                                   {"calls_per_second", 5000},
                                   {"timeout_ns", 5'000'000'000}}));
    calls::ObjectRule rule;
    rule.name = rule.class_pattern = "Page";
    EXPECT_EQ(rules, (json::array{calls::to_json(rule)}));
    (void)run({"--class", "Page", "--include", "in", "--exclude", "ex", "--no-memory", "--rate",
               "70", "--timeout", "3s", "--min", "1ms", "--for", "2s", "--budget", "5"});
    asked = request();
    asked.erase("rules");
    EXPECT_EQ(asked, (json::object{{"command", "objects"},
                                   {"pid", ::getpid()},
                                   {"budget_permille", 50},
                                   {"least_ns", 1'000'000},
                                   {"length_ns", 2'000'000'000},
                                   {"include", "in"},
                                   {"exclude", "ex"},
                                   {"memory", 0},
                                   {"calls_per_second", 70},
                                   {"timeout_ns", 3'000'000'000}}));
}

TEST_F(ObjectsCommand, RulesComeFromClassesPresetsAndOptions) {
    const auto preset = calls::object_presets().front();
    (void)run({"--class",   "A",           "--class",   "B",
               "--library", "*/libx.so",   "--preset",  std::string(preset.name),
               "--name",    "handle",      "--create",  "open:result",
               "--use",     "read:arg0",   "--release", "close:arg0",
               "--message", "text:result", "--title",   "arg0",
               "--error",   "errno",       "--success", "100 101",
               "--except",  "EAGAIN"});
    const auto rules = request().at("rules").as_array();
    const auto of_preset = calls::object_preset(std::string(preset.name)).value();
    ASSERT_EQ(rules.size(), 3 + of_preset.size()) << json::serialize(request());
    EXPECT_EQ(rules[0].at("name"), "A");
    EXPECT_EQ(rules[1].at("name"), "B");
    EXPECT_EQ(rules[1].at("library"), "*/libx.so");
    EXPECT_EQ(rules[2], calls::to_json(of_preset[0]));
    const json::object own = rules.back().as_object();
    EXPECT_EQ(own.at("name"), "handle");
    const auto expected = calls::parse_object_rule({{"name", "handle"},
                                                    {"create", "open:result"},
                                                    {"use", "read:arg0"},
                                                    {"release", "close:arg0"},
                                                    {"message", "text:result"},
                                                    {"title", "arg0"},
                                                    {"library", "*/libx.so"},
                                                    {"error", "errno"},
                                                    {"success", "100 101"},
                                                    {"except", "EAGAIN"}});
    ASSERT_TRUE(expected) << expected.error().message;
    EXPECT_EQ(own, calls::to_json(*expected));
}

TEST_F(ObjectsCommand, SaysWhatIsMissing) {
    EXPECT_THAT(run({}).err, StartsWith("lagtrap: no objects selected; use --class NAME for C++"));
    EXPECT_THAT(test::run_lagtrap({"objects", "--class", "Page"}).err,
                StartsWith("lagtrap: no process selected; use --process NAME, --read FILE, or "
                           "--connect URL"));
    EXPECT_EQ(run({"--preset", "no-such-preset"}).code, 1);
    for (const char* option : {"--mark", "--timeout", "--for", "--min"})
        EXPECT_THAT(run({"--class", "Page", option, "5x"}).err,
                    StartsWith(std::string("lagtrap: ") + option + ": "));
    EXPECT_TRUE(asked_.empty());
    EXPECT_EQ(run({"--class", "Page"}, {started_line()}).err,
              "lagtrap: lagtrapd has gone; its probes went with it\n");
    EXPECT_EQ(run({"--class", "Page"}, {R"({"ok":false,"error":"no"})"}).err, "lagtrap: no\n");
}

TEST_F(ObjectsCommand, ListsThePresets) {
    std::string expected;
    for (const calls::ObjectPreset& preset : calls::object_presets()) {
        std::string name(preset.name);
        name.resize(std::max<std::size_t>(12, name.size()), ' ');
        expected += name + std::string(preset.what) + "\n";
    }
    const auto outcome = test::run_lagtrap({"objects", "--list-presets"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, expected);
}

TEST_F(ObjectsCommand, RecordsAndReadsAgain) {
    const std::string file = folder_.string("trace");
    const auto live = run({"--class", "Page", "--record", file});
    EXPECT_EQ(test::text_of_file(file), started_line() + "\n" + ended_line() + "\n");
    const auto read = test::run_lagtrap({"objects", "--read", file});
    EXPECT_EQ(read.code, 0) << read.err;
    EXPECT_EQ(read.out, live.out);
    EXPECT_EQ(run({"--class", "Page", "--record", folder_.string("none/x")}).code, 1);
    EXPECT_TRUE(asked_.empty());
}

TEST_F(ObjectsCommand, AFileThatIsNoTraceIsSaidWithItsLine) {
    const std::string file = folder_.string("trace");
    test::write_text(file, started_line() + "\n");
    EXPECT_EQ(test::run_lagtrap({"objects", "--read", file}).err,
              "lagtrap: " + file + ": incomplete: the last line is missing\n");
    test::write_text(file, started_line() + "\nx\n");
    EXPECT_THAT(test::run_lagtrap({"objects", "--read", file}).err,
                StartsWith("lagtrap: " + file + ":2: "));
    test::write_text(file, std::string((8 << 20) + 1, ' ') + "\n");
    EXPECT_EQ(test::run_lagtrap({"objects", "--read", file}).err,
              "lagtrap: " + file + ":1: the line is longer than 8 MiB\n");
    const auto none = test::run_lagtrap({"objects", "--read", folder_.string("none")});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr(folder_.string("none")));
}

// Sends the trace through a spool.
class ObjectsSend : public ObjectsCommand {
  protected:
    ObjectsSend() { EXPECT_TRUE(spool::Spool::create(folder_.path() / "spool")); }
    [[nodiscard]] std::string spool() const { return folder_.string("spool"); }
    // All lines in it, and whether one part is the last.
    std::pair<std::string, bool> sent() const {
        std::map<std::uint32_t, trace::ObjectsPart> parts;
        for (const auto& entry : fs::directory_iterator(folder_.path() / "spool/ready")) {
            if (!spool::parse_entry_name(entry.path().filename().string())) continue;
            const auto bytes = read_file(entry.path(), trace::run_batch_limit_bytes);
            const auto batch = trace::read_run_batch(*bytes);
            EXPECT_TRUE(batch);
            parts[batch->objects->number] = *batch->objects;
        }
        std::string lines;
        bool last = false;
        for (const auto& [number, part] : parts) {
            lines += part.lines;
            last = last || part.last;
        }
        return {lines, last};
    }
    std::string settings_with(const std::string& more) const {
        const std::string file = folder_.string("settings.xml");
        test::write_text(
            file, "<lagtrap version=\"1\"><spool path=\"" + spool() + "\"/>" + more + "</lagtrap>");
        return file;
    }
};

TEST_F(ObjectsSend, PutsEveryLineIntoTheSpool) {
    const auto outcome = run({"--class", "Page", "--send", "--spool", spool()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(sent(), std::pair(started_line() + "\n" + ended_line() + "\n", true));
    EXPECT_THAT(outcome.out, StartsWith("Sending objects of shop (42) as watch "));
    EXPECT_THAT(outcome.out, testing::EndsWith(" parts in " + spool() + "\n"));
}

TEST_F(ObjectsSend, TheSpoolIsThatOfSettingsWithUpload) {
    const auto send = [this](const std::string& settings) {
        return run({"--class", "Page", "--send", "--settings", settings});
    };
    EXPECT_EQ(send(settings_with("<upload url=\"https://oak.example\"/>")).code, 0);
    EXPECT_NE(sent().first, "");
    const std::string without = settings_with("");
    const auto outcome = send(without);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "lagtrap: " + without +
                               " has no <upload>, so the trace could not be "
                               "sent; add one, or use --record\n");
    const std::string bad = settings_with("<nonsense/>");
    EXPECT_EQ(send(bad).err, "lagtrap: " + bad + ": invalid settings; see `lagtrap check`\n");
    EXPECT_TRUE(asked_.empty());
}

TEST_F(ObjectsSend, SaysWhatFailed) {
    const auto send = [this](const std::vector<std::string>& lines) {
        return run({"--class", "Page", "--send", "--spool", spool()}, lines);
    };
    EXPECT_EQ(send({}).err, "lagtrap: lagtrapd has gone; its probes went with it\n");
    EXPECT_EQ(send({ended_line()}).err, "lagtrap: unexpected first answer of lagtrapd\n");
    EXPECT_EQ(send({R"({"ok":false,"error":"no"})"}).err, "lagtrap: no\n");
    const auto half = send({started_line()});
    EXPECT_EQ(half.code, 1);
    EXPECT_EQ(half.err, "lagtrap: lagtrapd has gone; its probes went with it\n");
    EXPECT_THAT(half.out, HasSubstr(" in " + spool() + "\n"));
    EXPECT_TRUE(sent().second) << "the follower learns that it is over";
    EXPECT_EQ(run({"--class", "Page", "--send", "--spool", "/no/such/spool"}).code, 1);
}

}  // namespace
}  // namespace lagtrap::cli::objects_command_test
