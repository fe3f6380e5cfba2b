#include "cli/trace_arguments.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/argument_names.hpp"

namespace lagtrap::cli::trace_arguments_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class TraceArguments : public testing::Test {
  protected:
    // True if the words, the last one first, are accepted.
    bool accepts(std::vector<std::string> reversed) {
        choice_ = Choice{};
        CLI::App app;
        add_calls(app, choice_);
        add_functions(app, choice_);
        add_objects(app, choice_);
        try {
            app.parse(reversed);
        } catch (const CLI::ParseError&) {
            return false;
        }
        EXPECT_TRUE(choice_.run);
        return true;
    }
    bool accepts_line(const std::string& line) {
        std::vector<std::string> words = CLI::detail::split(line, ' ');
        std::reverse(words.begin(), words.end());
        return accepts(std::move(words));
    }
    Choice choice_;
};

TEST_F(TraceArguments, OfCallsGoWhereTheyBelong) {
    ASSERT_TRUE(
        accepts_line("calls --process shop --function sell --depth 5 --match x --only f,g "
                     "--min 5ms --count 7 --for 9s --budget 3 --output o --socket s"));
    const CallsOptions& calls = choice_.calls;
    EXPECT_EQ(calls.process, "shop");
    EXPECT_EQ(calls.function, "sell");
    EXPECT_EQ(calls.depth, 5U);
    EXPECT_EQ(calls.match, "x");
    EXPECT_THAT(calls.only, ElementsAre("f", "g"));
    EXPECT_EQ(calls.least, "5ms");
    EXPECT_EQ(calls.count, 7U);
    EXPECT_EQ(calls.length, "9s");
    EXPECT_EQ(calls.budget_percent, 3);
    EXPECT_EQ(calls.output, "o");
    EXPECT_EQ(calls.socket, "s");
    EXPECT_FALSE(calls.summary || calls.all || calls.json);
    ASSERT_TRUE(accepts_line("calls --process shop --function sell --summary"));
    EXPECT_TRUE(choice_.calls.summary && !choice_.calls.all && !choice_.calls.json);
    ASSERT_TRUE(accepts_line("calls --process shop --function sell --all"));
    EXPECT_TRUE(choice_.calls.all && !choice_.calls.summary && !choice_.calls.json);
    EXPECT_FALSE(accepts_line("calls --function sell"));
    EXPECT_FALSE(accepts_line("calls --process shop"));
}

TEST_F(TraceArguments, OfFunctionsGoWhereTheyBelong) {
    ASSERT_TRUE(
        accepts_line("functions --process shop --include i --exclude e --min 5ms --for 9s "
                     "--budget 3 --rate 1MB --top 4 --output o"));
    const FunctionsOptions& functions = choice_.functions;
    EXPECT_EQ(functions.include, "i");
    EXPECT_EQ(functions.exclude, "e");
    EXPECT_EQ(functions.least, "5ms");
    EXPECT_EQ(functions.length, "9s");
    EXPECT_EQ(functions.budget_percent, 3);
    EXPECT_EQ(functions.bytes_per_second, "1MB");
    EXPECT_EQ(functions.top, 4U);
    EXPECT_EQ(functions.output, "o");
    EXPECT_FALSE(accepts_line("functions"));
}

TEST_F(TraceArguments, TheBudgetIsATenthToTenThousandPercent) {
    for (const char* command :
         {"calls --process p --function f", "functions --process p", "objects --process p"}) {
        const std::string begin = std::string(command) + " --budget ";
        EXPECT_TRUE(accepts_line(begin + "0.1")) << command;
        EXPECT_TRUE(accepts_line(begin + "10000")) << command;
        EXPECT_FALSE(accepts_line(begin + "0.09")) << command;
        EXPECT_FALSE(accepts_line(begin + "10001")) << command;
    }
}

TEST_F(TraceArguments, OfObjectsGoWhereTheyBelong) {
    ASSERT_TRUE(accepts_line(
        "objects --process p --class c --preset q --name n --library l --create a --use b "
        "--release d --message e --error null --success 100 --except EAGAIN --title arg0 "
        "--include i --exclude x --min 1ms --mark 2ms --for 3s --timeout 4s --rate 5 --top 6 "
        "--record r"));
    const ObjectsOptions& objects = choice_.objects;
    EXPECT_THAT(objects.classes, ElementsAre("c"));
    EXPECT_THAT(objects.presets, ElementsAre("q"));
    EXPECT_THAT(
        (std::vector{objects.name, objects.library, objects.create, objects.use, objects.release,
                     objects.message, objects.error, objects.success, objects.except, objects.title,
                     objects.include, objects.exclude}),
        ElementsAre("n", "l", "a", "b", "d", "e", "null", "100", "EAGAIN", "arg0", "i", "x"));
    EXPECT_THAT(
        (std::vector{objects.least, objects.mark, objects.length, objects.timeout, objects.record}),
        ElementsAre("1ms", "2ms", "3s", "4s", "r"));
    EXPECT_EQ(objects.calls_per_second, 5U);
    EXPECT_EQ(objects.top, 6U);
    EXPECT_EQ(objects.settings, default_settings);
    EXPECT_FALSE(objects.no_memory || objects.tree || objects.all || objects.json || objects.send ||
                 objects.list_presets);
    ASSERT_TRUE(accepts_line("objects --no-memory --list-presets"));
    EXPECT_TRUE(choice_.objects.no_memory && choice_.objects.list_presets);
    EXPECT_FALSE(choice_.objects.tree || choice_.objects.all);
}

TEST_F(TraceArguments, ATraceComesFromOnePlace) {
    EXPECT_TRUE(accepts_line("objects --read r"));
    EXPECT_TRUE(accepts_line("objects --send --spool s --settings t"));
    EXPECT_TRUE(accepts_line("objects --connect u --token-file t --ca c --watch w --host h"));
    EXPECT_EQ(choice_.objects.token_file, "t");
    EXPECT_EQ(choice_.objects.ca_file, "c");
    EXPECT_EQ(choice_.objects.watch, "w");
    EXPECT_EQ(choice_.objects.host, "h");
    for (const char* both :
         {"--read r --record o", "--read r --send", "--read r --connect u", "--send --connect u"})
        EXPECT_FALSE(accepts_line("objects " + std::string(both))) << both;
    for (const char* alone : {"--token-file t", "--ca c", "--watch w", "--host h"})
        EXPECT_FALSE(accepts_line("objects " + std::string(alone))) << alone;
}

TEST(ArgumentNames, SayWhatAValueIs) {
    CLI::App app;
    CLI::App* const command = app.add_subcommand("do", "");
    std::string text;
    unsigned number = 0;
    double real = 0;
    bool flag = false;
    command->add_option("file", text, "");
    command->add_option("--for", text, "");
    command->add_option("--unheard", text, "");
    command->add_option("--depth", number, "");
    command->add_option("--count", number, "");
    command->add_option("--budget", real, "")->check(CLI::Range(0.1, 9.0));
    command->add_option("--own", text, "")->type_name("PLACE");
    command->add_flag("--all", flag, "");
    name_arguments(app);
    const std::string help = command->help();
    EXPECT_THAT(help, HasSubstr("--for TIME"));
    EXPECT_THAT(help, HasSubstr("--unheard TEXT"));
    EXPECT_THAT(help, HasSubstr("--depth LEVELS"));
    EXPECT_THAT(help, HasSubstr("--count NUMBER"));
    EXPECT_THAT(help, HasSubstr("--budget PERCENT"));
    EXPECT_THAT(help, HasSubstr("--own PLACE"));
    EXPECT_THAT(help, Not(HasSubstr("file TEXT")));
    EXPECT_THAT(help, Not(HasSubstr("--all TEXT")));
}

}  // namespace
}  // namespace lagtrap::cli::trace_arguments_test
