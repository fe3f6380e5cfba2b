// `lagtrap add` without measuring, on a preset of the test's own.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/add/add_offers.hpp"
#include "cli/commands.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "tests/unit/cli/terminal_session.hpp"

namespace lagtrap::cli::add_command_test {
namespace {

namespace json = boost::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* postgres = "/usr/lib/postgresql/15/bin/postgres";

class AddCommand : public testing::Test {
  protected:
    AddCommand() {
        ::setenv("LAGTRAP_PRESETS", folder_.path().c_str(), 1);
        write_preset("syncs", "query");
        test::write_text(settings_, "<lagtrap version=\"1\">\n</lagtrap>\n");
    }
    ~AddCommand() override { ::unsetenv("LAGTRAP_PRESETS"); }
    // Of the program that the tests ask for.
    void write_preset(const std::string& name, const std::string& event) const {
        test::write_text(
            folder_.string(name + ".xml"),
            std::string("<preset version=\"1\" about=\"Queries.\" tried-with=\"1\">\n<program "
                        "path=\"") +
                postgres + "\"/>\n<event name=\"" + event + "\" threshold=\"100ms\" binary=\"" +
                postgres +
                "\"><begin usdt=\"postgresql:query__start\"/><end "
                "usdt=\"postgresql:query__done\"/></event></preset>");
    }
    [[nodiscard]] test::Outcome add(std::vector<std::string> words) const {
        words.insert(words.begin(), {"add", "--settings", settings_, "--socket", "/no/such/socket",
                                     "--for", "0s"});
        return test::run_lagtrap(words);
    }
    test::TemporaryFolder folder_;
    const std::string settings_ = folder_.string("settings.xml");
};

TEST_F(AddCommand, ProposesThePresetOfTheProgram) {
    const auto outcome = add({postgres});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith(std::string(postgres)));
    EXPECT_THAT(outcome.out, HasSubstr("\n  1. preset syncs\n"));
    EXPECT_THAT(
        outcome.out,
        EndsWith("\nAdd to the settings\n  <use preset=\"syncs\"/>\n\n--write puts it into " +
                 settings_ + ".\n"));
    EXPECT_EQ(test::text_of_file(settings_), "<lagtrap version=\"1\">\n</lagtrap>\n");
}

TEST_F(AddCommand, OptionsChangeTheElements) {
    EXPECT_THAT(add({postgres, "--threshold", "5s", "--prefix", "eu-"}).out,
                HasSubstr("\n  <use preset=\"syncs\" threshold=\"5s\" prefix=\"eu-\"/>\n"));
    write_preset("zebra", "stripes");
    const auto second = json::parse(add({postgres, "--json", "--choose", "2"}).out);
    EXPECT_EQ(second.at("offers").as_array().size(), 2U);
    EXPECT_EQ(second.at("chosen"), 2);
    EXPECT_EQ(second.at("xml"), second.at("offers").at(1).at("xml"));
}

TEST_F(AddCommand, WithoutMeasuringProposesProbesToo) {
    const auto titles = [this](std::vector<std::string> words) {
        words.insert(words.begin(), {postgres, "--json"});
        std::vector<std::string> all;
        const json::value shown = json::parse(add(words).out);
        for (const auto& offer : shown.at("offers").as_array())
            all.emplace_back(offer.at("title").as_string());
        return all;
    };
    EXPECT_THAT(titles({}), testing::ElementsAre("preset syncs"));
    const auto both = titles({"--functions"});
    EXPECT_EQ(both.front(), "preset syncs");
    EXPECT_THAT(both, testing::Contains("probes postgresql:query__start and query__done"));
    std::filesystem::remove(folder_.string("syncs.xml"));
    const auto probes = titles({});
    EXPECT_EQ(probes.size(), both.size() - 1);
    const auto shown = add({postgres});
    EXPECT_THAT(shown.out, HasSubstr("threshold=\"500ms\"")) << shown.err;
}

TEST(ProbeOffers, AreFoundThroughAProcessThatStillRuns) {
    AddTarget target;
    target.program = target.name = postgres;
    const std::size_t without_processes = probe_offers(target).size();
    EXPECT_GT(without_processes, 1U);
    const pid_t ended = ::fork();
    if (ended == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
    target.processes.resize(2);
    target.processes[0].pid = static_cast<std::uint32_t>(ended);
    target.processes[1].pid = static_cast<std::uint32_t>(::getpid());
    EXPECT_EQ(probe_offers(target).size(), without_processes);
    target.processes.pop_back();
    EXPECT_EQ(probe_offers(target).size(), without_processes);
}

TEST_F(AddCommand, JsonIsAlone) {
    const auto outcome = add({postgres, "--json"});
    const auto shown = json::parse(outcome.out);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(shown.at("program"), postgres);
    EXPECT_EQ(shown.at("offers").as_array().size(), 1U);
    EXPECT_EQ(shown.at("chosen"), 1);
    EXPECT_EQ(shown.at("written"), false);
    EXPECT_EQ(shown.at("daemon"), "");
    EXPECT_EQ(shown.at("settings").as_string(), settings_);
}

TEST_F(AddCommand, WritesIfTold) {
    const auto outcome = add({postgres, "--write"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(test::text_of_file(settings_), HasSubstr("<use preset=\"syncs\"/>"));
    EXPECT_THAT(outcome.out, HasSubstr("\nWritten to " + settings_ + ". lagtrapd is not running;"));
    const auto again = add({postgres, "--write", "--json", "--prefix", "eu-"});
    EXPECT_EQ(json::parse(again.out).at("written"), true);
    EXPECT_THAT(std::string(json::parse(again.out).at("daemon").as_string()),
                StartsWith("lagtrapd is not running"));
    const auto failed = add({postgres, "--write"});
    EXPECT_EQ(failed.code, 1) << "it is there already";
    EXPECT_THAT(failed.err, StartsWith("lagtrap: "));
}

// At a terminal, a person chooses from two presets and says whether to write.
class AddAtATerminal : public AddCommand {
  protected:
    AddAtATerminal() {
        write_preset("zebra", "stripes");
        options_.target = postgres;
        options_.length = "0s";
        options_.settings = settings_;
        options_.socket = "/no/such/socket";
    }
    [[nodiscard]] std::unique_ptr<test::TerminalSession> start() const {
        return std::make_unique<test::TerminalSession>([this] {
            Console console{std::cout, std::cerr, Paint(false), 100, true};
            const int code = add_events(options_, console);
            std::cout << std::flush;
            return code;
        });
    }
    [[nodiscard]] std::string settings() const { return test::text_of_file(settings_); }
    const std::string before_ = "<lagtrap version=\"1\">\n</lagtrap>\n";
    AddOptions options_;
};

TEST_F(AddAtATerminal, ThePersonChoosesAndSaysYes) {
    const auto session = start();
    ASSERT_TRUE(session->shows("Which one? [1 to 2, Enter for 1, q for none] "))
        << session->output();
    session->type("2\n");
    ASSERT_TRUE(session->shows("<use preset=\"zebra\"/>"));
    ASSERT_TRUE(session->shows("Write it to " + settings_ + "? [y/N] "));
    session->type("y\n");
    EXPECT_TRUE(session->shows("Written to "));
    EXPECT_EQ(session->end(), 0);
    EXPECT_THAT(settings(), HasSubstr("<use preset=\"zebra\"/>"));
}

TEST_F(AddAtATerminal, EnterMeansTheFirstAndNothingIsWrittenWithoutYes) {
    const auto session = start();
    ASSERT_TRUE(session->shows("Which one? "));
    session->type("\n");
    ASSERT_TRUE(session->shows("<use preset=\"syncs\"/>"));
    ASSERT_TRUE(session->shows("[y/N] "));
    session->type("\n");
    EXPECT_TRUE(session->shows("--write puts it into "));
    EXPECT_EQ(session->end(), 0);
    EXPECT_EQ(settings(), before_);
}

TEST_F(AddAtATerminal, NoneOrNoChoiceEndsIt) {
    const auto none = start();
    ASSERT_TRUE(none->shows("Which one? "));
    none->type("q\n");
    EXPECT_EQ(none->end(), 1 << 8);
    EXPECT_THAT(none->output(), testing::Not(HasSubstr("Add to the settings")));
    const auto wrong = start();
    ASSERT_TRUE(wrong->shows("Which one? "));
    wrong->type("3\n");
    EXPECT_TRUE(wrong->shows("lagtrap: 3 is not a choice; enter 1 to 2"));
    EXPECT_EQ(wrong->end(), 1 << 8);
    EXPECT_EQ(settings(), before_);
}

TEST_F(AddAtATerminal, NothingIsAskedIfTheOptionsSayIt) {
    options_.choose = 2;
    const auto chosen = start();
    EXPECT_EQ(chosen->end(), 0);
    EXPECT_THAT(chosen->output(), testing::AllOf(HasSubstr("<use preset=\"zebra\"/>"),
                                                 testing::Not(HasSubstr("Which one?")),
                                                 testing::Not(HasSubstr("[y/N]"))));
    options_.choose = 0;
    options_.json = true;
    const auto shown = start();
    EXPECT_EQ(shown->end(), 0);
    EXPECT_THAT(shown->output(),
                testing::AllOf(HasSubstr("\"chosen\":1"), testing::Not(HasSubstr("Which one?")),
                               testing::Not(HasSubstr("[y/N]"))));
    EXPECT_EQ(settings(), before_);
}

TEST_F(AddCommand, SaysWhatIsWrong) {
    const auto choose = add({postgres, "--choose", "2"});
    EXPECT_EQ(choose.code, 1);
    EXPECT_EQ(choose.err, "lagtrap: --choose 2: there are only 1 proposal\n");
    EXPECT_THAT(add({postgres, "--threshold", "5x"}).err, StartsWith("lagtrap: --threshold 5x: "));
    const auto run = [](const char* length) {
        return test::run_lagtrap({"add", postgres, "--for", length});
    };
    EXPECT_EQ(run("601s").err, "lagtrap: --for: expected 0s to 10min\n");
    EXPECT_THAT(run("x").err, StartsWith("lagtrap: --for x: "));
    if (::geteuid() != 0)
        EXPECT_EQ(run("1s").err,
                  "lagtrap: measuring a program needs root; --for 0s proposes presets and probes "
                  "without measuring\n");
    EXPECT_EQ(add({"no-such-program-or-unit"}).code, 1);
    const auto none = add({"/usr/bin/env"});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("/usr/bin/env is not running and has no preset"));
}

}  // namespace
}  // namespace lagtrap::cli::add_command_test
