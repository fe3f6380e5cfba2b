// `lagtrap presets` with presets of the test's own.
#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::presets_command_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* syncs_xml = R"(<preset version="1" about="Calls of sync in any program."
    tried-with="Linux 6.18">
  <limit text="It does not see msync."/>
  <event name="sync" threshold="200ms" trace-length="2s"
    ><begin tracepoint="syscalls:sys_enter_sync"/><end tracepoint="syscalls:sys_exit_sync"/></event>
</preset>)";

class OwnPresets : public testing::Test {
  protected:
    OwnPresets() {
        ::setenv("LAGTRAP_PRESETS", folder_.path().c_str(), 1);
        test::write_text(file_, syncs_xml);
    }
    ~OwnPresets() override { ::unsetenv("LAGTRAP_PRESETS"); }
    test::TemporaryFolder folder_;
    const std::string file_ = folder_.string("syncs.xml");
    const std::string element_ =
        "  <event name=\"sync\" threshold=\"200ms\" trace-length=\"2s\">\n"
        "    <begin tracepoint=\"syscalls:sys_enter_sync\"/>\n"
        "    <end tracepoint=\"syscalls:sys_exit_sync\"/>\n"
        "  </event>\n";
};

TEST_F(OwnPresets, ListsEachWithWhatItIsAboutAndWhetherItIsHere) {
    test::write_text(folder_.string("zebra.xml"), syncs_xml);
    const auto outcome = test::run_lagtrap({"presets"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "syncs\n  Calls of sync in any program.\n  kernel: any program\n"
              "zebra\n  Calls of sync in any program.\n  kernel: any program\n"
              "\nAdd <use preset=\"NAME\"/> to the settings; `lagtrap presets NAME` shows one.\n");
    const auto all = json::parse(test::run_lagtrap({"presets", "--json"}).out).as_array();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].at("name"), "syncs");
    EXPECT_EQ(all[1].at("name"), "zebra");
    EXPECT_EQ(all[1].at("here"),
              (json::object{{"installed", json::array{}}, {"processes", json::array{}}}));
}

TEST_F(OwnPresets, OneWithErrorsIsReportedBesideTheOthers) {
    test::write_text(folder_.string("bad.xml"), "<preset/>");
    const auto outcome = test::run_lagtrap({"presets"});
    EXPECT_EQ(outcome.code, 3);
    EXPECT_THAT(outcome.err, StartsWith(folder_.string("bad.xml") + ":1:"));
    EXPECT_THAT(outcome.out, StartsWith("syncs\n"));
    EXPECT_EQ(test::run_lagtrap({"presets", "bad"}).code, 3);
    EXPECT_EQ(test::run_lagtrap({"presets", "--json"}).code, 3);
}

TEST_F(OwnPresets, ShowsAllOfOne) {
    const auto outcome = test::run_lagtrap({"presets", "syncs"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "syncs  " + file_ +
                  "\n  Calls of sync in any program.\n  tested with Linux 6.18\n"
                  "  kernel: any program\n"
                  "\nLimits\n  It does not see msync.\n"
                  "\nParameters of <use>\n"
                  "  events=\"sync\": which events; default: all\n"
                  "  threshold=: for all of them; default: 200ms\n"
                  "  trace-length=: how long to record; default: 2s\n"
                  "  prefix=: prefix for the event names; default: none\n"
                  "  record=\"runs\": send every run to the server; default: only delays\n"
                  "  <scope .../> inside: limits the processes; default: all\n"
                  "\nUse in the settings\n  <use preset=\"syncs\"/>\n"
                  "\nShort for\n" +
                  element_);
    EXPECT_EQ(test::run_lagtrap({"presets", file_}).out, outcome.out) << "a file has a slash";
    const auto shown = json::parse(test::run_lagtrap({"presets", "syncs", "--json"}).out);
    EXPECT_EQ(
        shown,
        (json::object{
            {"name", "syncs"},
            {"file", file_},
            {"about", "Calls of sync in any program."},
            {"tried_with", "Linux 6.18"},
            {"limits", json::array{"It does not see msync."}},
            {"scope", true},
            {"events", json::array{json::object{
                           {"name", "sync"}, {"threshold", "200ms"}, {"trace_length", "2s"}}}},
            {"here", json::object{{"installed", json::array{}}, {"processes", json::array{}}}},
            {"xml", element_}}));
}

TEST_F(OwnPresets, HelpsWithWrongNames) {
    const auto near = test::run_lagtrap({"presets", "sinc"});
    EXPECT_EQ(near.code, 1);
    EXPECT_THAT(near.err, StartsWith("lagtrap: "));
    EXPECT_THAT(test::run_lagtrap({"presets", "sync"}).err, HasSubstr("; did you mean syncs?\n"));
    EXPECT_THAT(test::run_lagtrap({"presets", "qqqqqqqqq"}).err,
                HasSubstr("; `lagtrap presets` lists all\n"));
}

}  // namespace
}  // namespace lagtrap::cli::presets_command_test
