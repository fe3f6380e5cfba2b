#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/function_name.hpp"
#include "cli/commands.hpp"
#include "cli/console/console.hpp"
#include "cli/console/text_layout.hpp"
#include "tests/unit/cli/cli_test.hpp"
#include "tests/unit/test_paths.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::command_tests {
namespace {

constexpr const char* postgres = "/usr/lib/postgresql/15/bin/postgres";

TEST(CommandLine, tells_usage_from_failure) {
    EXPECT_EQ(test::run_lagtrap({}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"reprot"}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"report", "--nonsense"}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"--version"}).code, 0);
    EXPECT_EQ(test::run_lagtrap({"--version"}).out, "lagtrap " LAGTRAP_VERSION "\n");
    EXPECT_EQ(test::run_lagtrap({"--help"}).code, 0);
    for (const char* command : {"status", "live", "check", "list-markers", "trigger", "approve",
                                "decline", "report", "export", "upload"}) {
        EXPECT_EQ(test::run_lagtrap({command, "--help"}).code, 0) << command;
    }
}

TEST(CommandLine, says_in_one_line_what_is_wrong) {
    EXPECT_EQ(test::run_lagtrap({"reprot"}).err,
              "lagtrap: there is no command reprot; did you mean report?\n");
    EXPECT_EQ(test::run_lagtrap({"nothing-like-it"}).err,
              "lagtrap: there is no command nothing-like-it; see `lagtrap --help`\n");
    EXPECT_EQ(test::run_lagtrap({"add"}).err,
              "lagtrap: add: target is required; see `lagtrap add --help`\n");
    EXPECT_EQ(test::run_lagtrap({"status", "--nonsense"}).err,
              "lagtrap: status: the following argument was not expected: --nonsense; see `lagtrap "
              "status --help`\n");
}

TEST(CommandLine, fits_its_help_on_a_screen) {
    const auto help = test::run_lagtrap({"--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(test::run_lagtrap({}).err, help.out);
    std::istringstream lines(help.out);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
    EXPECT_LE(count, 40U);
    // Those that it does not describe, it names.
    for (const char* const command : {"  why ", "  report ", "  status ", "approve", "symbolize"})
        EXPECT_THAT(help.out, testing::HasSubstr(command));
}

TEST(ListMarkers, shows_probes_as_the_settings_want_them) {
    const auto outcome = test::run_lagtrap({"list-markers", postgres});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::StartsWith(std::string(postgres) + "\n"));
    const std::string binary = " binary=\"" + std::string(postgres) + "\"/>";
    EXPECT_THAT(outcome.out, testing::HasSubstr("  <begin usdt=\"postgresql:query__start\"" +
                                                binary + "  <!-- arg0 -->\n"));
    EXPECT_THAT(outcome.out, testing::HasSubstr("  <end usdt=\"postgresql:query__done\"" + binary +
                                                "  <!-- arg0 -->\n"));
    const auto json =
        boost::json::parse(test::run_lagtrap({"list-markers", "--json", postgres}).out);
    EXPECT_EQ(json.at(0).at("path").as_string(), postgres);
    EXPECT_GT(json.at(0).at("usdt").as_array().size(), 50);
    EXPECT_FALSE(json.at(0).as_object().contains("functions"));
}

TEST(ListMarkers, shows_functions_of_a_stripped_program) {
    const auto outcome =
        test::run_lagtrap({"list-markers", "--functions", "/usr/bin/redis-server"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::StartsWith("/usr/bin/redis-server\n"));
    EXPECT_THAT(outcome.out,
                testing::HasSubstr("  <function name=\"call\" binary=\"/usr/bin/redis-server\"/>  "
                                   "<!-- return probe -->\n"));
    EXPECT_THAT(outcome.out, testing::HasSubstr("  needs /usr/lib/x86_64-linux-gnu/libc.so.6\n"));
}

TEST(ListMarkers, looks_into_a_process) {
    const auto outcome =
        test::run_lagtrap({"list-markers", "--functions", "--json", std::to_string(::getpid())});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto files = boost::json::parse(outcome.out);
    const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
    EXPECT_EQ(files.at(0).at("path").as_string(), own);
    EXPECT_THAT(outcome.out, testing::HasSubstr("/libc.so.6\""));
}

TEST(ListMarkers, a_file_that_is_named_like_a_process_is_a_file) {
    const test::TemporaryFolder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::string name = std::to_string(::getpid());
    std::filesystem::create_symlink(postgres, name);
    const auto outcome = test::run_lagtrap({"list-markers", name});
    std::filesystem::current_path(before);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::HasSubstr("<begin usdt=\"postgresql:query__start\""));
}

TEST(ListMarkers, says_what_is_wrong) {
    EXPECT_EQ(test::run_lagtrap({"list-markers", "4194305"}).err,
              "lagtrap: no process 4194305, or it is a kernel thread\n");
    EXPECT_EQ(test::run_lagtrap({"list-markers", "/no/such/program"}).code, 1);
    EXPECT_THAT(test::run_lagtrap({"list-markers", "/no/such/program"}).err,
                testing::HasSubstr("/no/such/program"));
    EXPECT_EQ(test::run_lagtrap({"list-markers", "/etc/passwd"}).code, 1);
}

TEST(Check, agrees_with_the_daemon) {
    const test::TemporaryFolder folder;
    const std::string good = source_folder() + "/tests/data/settings/good/smallest.xml";
    const auto fine = test::run_lagtrap({"check", good});
    EXPECT_EQ(fine.code, 0) << fine.err;
    EXPECT_EQ(fine.out, good + ": 0 events, no errors\n");

    const std::string bad = folder.string("bad.xml");
    std::ofstream(bad) << "<lagtrap version=\"1\">\n  <event name=\"x\" threshold=\"5sx\" "
                          "trace-length=\"1s\"/>\n</lagtrap>\n";
    const auto wrong = test::run_lagtrap({"check", bad});
    EXPECT_EQ(wrong.code, 3);
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, testing::HasSubstr(bad + ":2:"));
    const auto json = boost::json::parse(test::run_lagtrap({"check", "--json", bad}).out);
    EXPECT_FALSE(json.at("ok").as_bool());
    EXPECT_GE(json.at("errors").as_array().size(), 1);
    EXPECT_EQ(json.at("errors").at(0).at("line").to_number<int>(), 2);
    EXPECT_EQ(test::run_lagtrap({"check", folder.string("none.xml")}).code, 3);
    const auto reference = test::run_lagtrap({"check", "--reference", folder.string("none.xml")});
    EXPECT_EQ(reference.code, 0) << reference.err;
    EXPECT_THAT(reference.out, testing::HasSubstr("<event> in <lagtrap>"));
    EXPECT_EQ(test::run_lagtrap({"check", "--reference", "--json"}).code, 2);
    const auto schema = test::run_lagtrap({"check", "--schema", folder.string("none.xml")});
    EXPECT_EQ(schema.code, 0) << schema.err;
    EXPECT_THAT(schema.out, testing::HasSubstr("<xs:element name=\"event\">"));
    EXPECT_EQ(test::run_lagtrap({"check", "--schema", "--reference"}).code, 2);
}

TEST(Presets, are_listed_and_shown) {
    const auto list = test::run_lagtrap({"presets"});
    EXPECT_EQ(list.code, 0) << list.err;
    EXPECT_THAT(list.out, testing::HasSubstr("nginx\n  Requests of nginx"));
    std::istringstream lines(list.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80) << line;
    const auto shown = test::run_lagtrap({"presets", "nginx"});
    EXPECT_THAT(shown.out,
                testing::HasSubstr("<begin function=\"ngx_http_process_request\" key=\"arg0\"/>"));
    EXPECT_THAT(shown.out, testing::HasSubstr("binary=: the program or library; default: */nginx"));
    const auto json = boost::json::parse(test::run_lagtrap({"presets", "--json", "fsync"}).out);
    EXPECT_EQ(json.at("events").at(0).at("threshold").as_string(), "200ms");
    EXPECT_THAT(test::run_lagtrap({"presets", "ngix"}).err,
                testing::HasSubstr("did you mean nginx?"));

    const test::TemporaryFolder folder;
    const std::string bad = folder.string("own.xml");
    std::ofstream(bad) << "<preset version='1' about='x' tried-with='y'><event/></preset>";
    const auto wrong = test::run_lagtrap({"presets", bad});
    EXPECT_EQ(wrong.code, 3);
    EXPECT_THAT(wrong.err, testing::HasSubstr(bad + ":1:"));
    ::setenv("LAGTRAP_PRESETS", "/no/such/folder", 1);
    EXPECT_THAT(test::run_lagtrap({"presets"}).err,
                testing::HasSubstr("no presets in /no/such/folder"));
    ::unsetenv("LAGTRAP_PRESETS");
}

// Replaces the uploader, to test only the command's own part; prints its arguments.
std::string write_script(const test::TemporaryFolder& folder, const std::string& body) {
    const std::string path = folder.string("uploader");
    std::ofstream(path) << "#!/bin/sh\n" << body;
    ::chmod(path.c_str(), 0755);
    return path;
}

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

int upload(cli::UploadOptions options, std::string* err = nullptr) {
    std::ostringstream out, errors;
    cli::Console console{out, errors, cli::Paint(false)};
    const int code = cli::upload_bundles(options, console);
    if (err != nullptr) *err = errors.str();
    return code;
}

TEST(Upload, runs_the_uploader_once) {
    const test::TemporaryFolder folder;
    const std::string seen = folder.string("seen");
    const std::string script = write_script(folder, "echo \"$@\" > " + seen + "; exit 7\n");
    EXPECT_EQ(upload({{}, "/etc/s.xml", "", script}), 7);
    EXPECT_EQ(content_of(seen), "--settings /etc/s.xml --once\n");
    EXPECT_EQ(upload({{}, "/etc/s.xml", "/spool", script}), 7);
    EXPECT_EQ(content_of(seen), "--settings /etc/s.xml --once --spool /spool\n");
}

TEST(Upload, bundles_named_go_through_a_spool_of_their_own) {
    const test::TemporaryFolder folder;
    const std::string seen = folder.string("seen");
    const std::string script =
        write_script(folder, "ls $5/ready > " + seen + "; echo $5 >> " + seen + "\n");
    trace::SystemFile system;
    system.session_id = "3f0c1c5e-0000-4000-8000-00000000000a";
    system.trigger_reason = "manual";
    std::ofstream(folder.string("trace.pftrace")) << "trace";
    std::ofstream(folder.string("system.xml")) << trace::write_system_file(system);
    std::ofstream(folder.string("settings.xml")) << "<lagtrap/>";
    const auto made = trace::write_bundle(folder.string(""), system.session_id, folder.string(""));
    ASSERT_TRUE(made) << made.error().message;
    const std::string bundle = folder.string("renamed.lagtrap.tar.zst");
    std::filesystem::rename(made->path, bundle);
    std::string err;
    EXPECT_EQ(upload({{bundle}, "/etc/s.xml", "", script}, &err), 0) << err;
    std::istringstream lines(content_of(seen));
    std::string name, spool;
    lines >> name >> spool;
    EXPECT_EQ(name, made->path.filename());
    EXPECT_FALSE(std::filesystem::exists(spool));  // was removed afterwards
    EXPECT_TRUE(std::filesystem::exists(bundle));

    // A prefix of a name selects the spool of the settings.
    std::filesystem::create_directories(folder.string("kept/sent"));
    std::filesystem::copy_file(bundle,
                               folder.string("kept/sent/" + std::string(made->path.filename())));
    std::ofstream(folder.string("kept.xml"))
        << "<lagtrap version='1'><spool path='" << folder.string("kept") << "'/></lagtrap>";
    EXPECT_EQ(upload({{"3f0c1c5e"}, folder.string("kept.xml"), "", script}, &err), 0) << err;
    std::istringstream(content_of(seen)) >> name;
    EXPECT_EQ(name, made->path.filename());

    std::ofstream(folder.string("torn.lagtrap.tar.zst")) << "no bundle";
    EXPECT_EQ(upload({{folder.string("torn.lagtrap.tar.zst")}, "/etc/s.xml", "", script}, &err), 1);
    EXPECT_EQ(upload({{"./none.lagtrap.tar.zst"}, "/etc/s.xml", "", script}, &err), 1);
    EXPECT_EQ(err, "lagtrap: no such file: ./none.lagtrap.tar.zst\n");
    EXPECT_EQ(upload({{}, "/etc/s.xml", "", folder.string("no-uploader")}, &err), 1);
}

TEST(TextLayout, counts_characters_not_bytes) {
    EXPECT_EQ(cli::width_of("größe"), 5);
    EXPECT_EQ(cli::cut_end("größere", 6), "grö...");
    EXPECT_EQ(cli::cut_middle("/usr/lib/postgresql/15/bin/postgres", 20), "/usr/...bin/postgres");
    EXPECT_EQ(cli::pad_left("ab", 4), "  ab");
    EXPECT_EQ(cli::pad_right("größe", 7), "größe  ");
}

TEST(TextLayout, draws_shares) {
    EXPECT_EQ(cli::percent(0), "0 %");
    EXPECT_EQ(cli::percent(0.004), "<1 %");
    EXPECT_EQ(cli::percent(0.956), "96 %");
    EXPECT_EQ(cli::bar(0.001, 10), "#");
    EXPECT_EQ(cli::bar(0, 10), "");
    EXPECT_EQ(cli::bar(7, 10), "##########");
    EXPECT_EQ(cli::stretch(0.5, 0.25, 8), "    ##  ");
    EXPECT_EQ(cli::stretch(1, 0, 4), "   #");
    EXPECT_EQ(cli::with_commas(1234567), "1,234,567");
    EXPECT_EQ(cli::with_commas(123), "123");
}

TEST(TextLayout, shortens_function_names) {
    EXPECT_EQ(analysis::short_function_name("main"), "main");
    EXPECT_EQ(analysis::short_function_name("Store::get(int, char const*) const"), "Store::get");
    EXPECT_EQ(analysis::short_function_name(
                  "(anonymous namespace)::run((anonymous namespace)::Plan const&)"),
              "run");
    EXPECT_EQ(analysis::short_function_name("std::function<void (int)>::operator()(int) const"),
              "std::function<void (int)>::operator()");
    EXPECT_EQ(analysis::short_function_name("bool operator< <int>(A<int> const&)"),
              "bool operator< <int>");
    EXPECT_EQ(analysis::short_function_name("main::{lambda(int)#1}::operator()(int) const"),
              "main::{lambda(int)#1}::operator()");
    EXPECT_EQ(analysis::short_function_name("futex_wait [mod]"), "futex_wait [mod]");
    EXPECT_EQ(analysis::short_function_name("void Queue<int>::push<int>(int)"),
              "Queue<int>::push<int>");
    EXPECT_EQ(analysis::short_function_name(
                  "void boost::asio::detail::posix_event::wait<boost::asio::detail::"
                  "conditionally_enabled_mutex::scoped_lock>(boost::asio::lock&)"),
              "boost::asio::detail::posix_event::wait");
}

TEST(TextLayout, cuts_paths_in_the_middle) {
    const std::vector<std::string> path{"main", "aaaaaaaa", "bbbbbbbb", "cccccccc"};
    EXPECT_EQ(cli::join_path(path, 40), "main > aaaaaaaa > bbbbbbbb > cccccccc");
    EXPECT_EQ(cli::join_path(path, 36), "main > ... > bbbbbbbb > cccccccc");
    EXPECT_EQ(cli::join_path(path, 25), "... > bbbbbbbb > cccccccc");
    EXPECT_EQ(cli::join_path(path, 24), "main > ... > cccccccc");
    EXPECT_EQ(cli::join_path(path, 15), "... > cccccccc");
    EXPECT_EQ(cli::join_path(path, 8), "cccccccc");
    EXPECT_EQ(cli::join_path({"a_very_long_name_of_a_function"}, 20), "a_ver...f_a_function");
    EXPECT_EQ(cli::wrap_words("one two three", 10, 2), "  one two\n  three\n");
    EXPECT_EQ(cli::wrap_words("a größenordnung of b", 8, 2), "  a\n  größen\n  ordnun\n  g of b\n");
    EXPECT_EQ(cli::wrap_list({"on 4 %", "off 96 %", "lost 0 %"}, 19, 2),
              "  on 4 %, off 96 %,\n  lost 0 %\n");
    EXPECT_EQ(cli::wrap_list({"something longer"}, 12, 2), "  someth...\n");
    EXPECT_EQ(cli::wrap_list({}, 12, 2), "");
}

TEST(Paint, colours_only_when_wanted) {
    EXPECT_EQ(cli::Paint(false)(cli::Colour::Red, "x"), "x");
    EXPECT_EQ(cli::Paint(true)(cli::Colour::Red, "x"), "\x1b[31mx\x1b[0m");
    EXPECT_EQ(cli::Paint(true)(cli::Colour::None, "x"), "x");
}

}  // namespace
}  // namespace lagtrap::command_tests
