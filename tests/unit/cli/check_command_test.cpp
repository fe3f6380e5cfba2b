// The output of `lagtrap check`, `rehearse` and `list-markers` as JSON and as text.
#include <unistd.h>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "settings/parser.hpp"
#include "settings/schema_file.hpp"
#include "settings/schema_text.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::check_command_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::StartsWith;

class CheckCommand : public testing::Test {
  protected:
    test::Outcome check(const std::string& text, std::vector<std::string> words = {}) {
        test::write_text(file_, text);
        words.insert(words.begin(), {"check", file_});
        return test::run_lagtrap(words);
    }
    // As the settings report it.
    settings::ParseOutcome parsed() const {
        return settings::load_settings(file_, settings::BinaryCheck::Look);
    }
    test::TemporaryFolder folder_;
    const std::string file_ = folder_.string("s.xml");
};

constexpr const char* wrong =
    "<lagtrap version=\"1\">\n<event name=\"x\" threshold=\"5sx\" nonsense=\"1\"/>\n</lagtrap>\n";

TEST_F(CheckCommand, ShowsErrorsOrSuccess) {
    const auto good = check("<lagtrap version=\"1\"/>");
    EXPECT_EQ(good.code, 0);
    EXPECT_EQ(good.out, settings::success_line(file_, parsed()));
    EXPECT_EQ(good.err, "");
    const auto bad = check(wrong);
    EXPECT_EQ(bad.code, 3);
    EXPECT_EQ(bad.out, "");
    const auto outcome = parsed();
    EXPECT_EQ(bad.err, settings::format_diagnostics(file_, outcome.settings.source_text,
                                                    outcome.diagnostics));
}

TEST_F(CheckCommand, ShowsWarnings) {
    const std::string program = folder_.string("program");
    std::filesystem::copy_file("/usr/lib/postgresql/15/bin/postgres", program);
    std::filesystem::permissions(program, std::filesystem::perms::all);
    const std::string text =
        "<lagtrap version=\"1\">\n<event name=\"x\" threshold=\"5s\" binary=\"" + program +
        "\"><begin usdt=\"postgresql:query__start\"/><end usdt=\"postgresql:query__done\"/>"
        "</event>\n</lagtrap>\n";
    const auto warned = check(text);
    EXPECT_EQ(warned.code, 0) << warned.err;
    const auto outcome = parsed();
    ASSERT_FALSE(outcome.warnings.empty());
    EXPECT_EQ(warned.err, settings::format_notes(file_, outcome));
    const auto shown = json::parse(check(text, {"--json"}).out);
    ASSERT_EQ(shown.at("warnings").as_array().size(), outcome.warnings.size());
    const auto& first = outcome.warnings.front();
    EXPECT_EQ(
        shown.at("warnings").at(0),
        (json::object{{"line", first.line}, {"column", first.column}, {"found", first.text}}));
}

TEST_F(CheckCommand, JsonHasEveryError) {
    const auto bad = check(wrong, {"--json"});
    EXPECT_EQ(bad.code, 3);
    EXPECT_EQ(bad.err, "");
    const auto shown = json::parse(bad.out).as_object();
    const auto outcome = parsed();
    ASSERT_GE(outcome.diagnostics.size(), 2U);
    json::array errors;
    for (const auto& one : outcome.diagnostics)
        errors.push_back(json::object{{"line", one.line},
                                      {"column", one.column},
                                      {"found", one.found},
                                      {"allowed", one.allowed},
                                      {"hint", one.hint}});
    EXPECT_EQ(shown, (json::object{{"ok", false},
                                   {"file", file_},
                                   {"events", outcome.settings.events.size()},
                                   {"errors", errors},
                                   {"notes", json::array{}},
                                   {"warnings", json::array{}}}));
    const auto good = check("<lagtrap version=\"1\"/>", {"--json"});
    EXPECT_EQ(good.code, 0);
    EXPECT_EQ(json::parse(good.out).at("ok"), true);
}

TEST_F(CheckCommand, ReferenceAndSchemaReadNoFile) {
    EXPECT_EQ(test::run_lagtrap({"check", "/none", "--reference"}).out,
              settings::settings_reference());
    EXPECT_EQ(test::run_lagtrap({"check", "/none", "--schema"}).out,
              settings::settings_schema_file());
}

TEST(MarkerCommand, NeedsATarget) {
    const auto none = test::run_lagtrap({"list-markers"});
    EXPECT_EQ(none.code, 2);
    EXPECT_EQ(none.err,
              "lagtrap: list-markers needs a program, a library, a process id, or "
              "--tracepoints\n");
    EXPECT_EQ(test::run_lagtrap({"list-markers", "--tracepoints", "--functions"}).code, 2);
}

TEST(MarkerCommand, NumbersThatAreNoProcessAreFiles) {
    for (const char* target : {"0", "12x", "-1", "99999999999"}) {
        const auto outcome = test::run_lagtrap({"list-markers", target});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(outcome.err, HasSubstr(std::string("/") + target)) << target;
    }
}

TEST(MarkerCommand, RelativePathsBecomeAbsolute) {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path("/usr/lib/postgresql/15");
    const auto outcome = test::run_lagtrap({"list-markers", "bin/../bin/postgres"});
    std::filesystem::current_path(before);
    EXPECT_THAT(outcome.out, StartsWith("/usr/lib/postgresql/15/bin/postgres\n"));
    EXPECT_THAT(outcome.out, HasSubstr("\n  needs "));
}

TEST(MarkerCommand, WithoutFunctionsHasNone) {
    const std::string own = std::to_string(::getpid());
    const auto plain = json::parse(test::run_lagtrap({"list-markers", "--json", own}).out);
    EXPECT_FALSE(plain.at(0).as_object().contains("functions"));
    const auto full =
        json::parse(test::run_lagtrap({"list-markers", "--json", "--functions", own}).out);
    EXPECT_TRUE(full.at(0).as_object().contains("functions"));
}

TEST(MarkerCommand, TracepointsAreThoseOfTheKernel) {
    const auto outcome = test::run_lagtrap({"list-markers", "--tracepoints", "sys_enter_fsync"});
    if (outcome.code == 1) {
        // Not everybody may read tracefs.
        EXPECT_THAT(outcome.err, testing::EndsWith("; run as root\n"));
        return;
    }
    EXPECT_THAT(outcome.out, HasSubstr("syscalls:sys_enter_fsync"));
    EXPECT_TRUE(
        json::parse(
            test::run_lagtrap({"list-markers", "--tracepoints", "--json", "sys_enter_fsync"}).out)
            .is_array());
    const auto none = test::run_lagtrap({"list-markers", "--tracepoints", "no_such_tracepoint"});
    EXPECT_EQ(none.code, 1);
    EXPECT_EQ(none.err, "lagtrap: no kernel tracepoint matches no_such_tracepoint\n");
}

}  // namespace
}  // namespace lagtrap::cli::check_command_test
