#include "cli/programs/preset_text.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::preset_text_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* shop_xml = R"(<preset version="1" about="Requests of a shop."
    tried-with="shop 1.2">
  <program path="/usr/bin/no-such-shop"/>
  <limit text="It does not see returns."/>
  <event name="buy" threshold="100ms" binary="/usr/bin/shop"><function name="buy"/></event>
  <event name="pay" threshold="p99 x 3" trace-length="7s" binary="/usr/lib/libpay.so"
    ><function name="pay"/></event>
</preset>)";

class PresetText : public testing::Test {
  protected:
    settings::Preset load(const std::string& xml) {
        test::write_text(folder_.string("shop.xml"), xml);
        auto outcome = settings::load_preset(folder_.string("shop.xml"));
        EXPECT_TRUE(outcome.preset)
            << settings::format_diagnostics("shop.xml", outcome.text, outcome.diagnostics);
        return outcome.preset.value_or(settings::Preset{});
    }
    test::TemporaryFolder folder_;
};

TEST_F(PresetText, PresenceIsRunningOrInstalledOrTheKernel) {
    const auto text_of = [](const Presence& presence) { return presence_text(presence); };
    MappedProcess shop{7, "shop", {}, {}};
    EXPECT_EQ(text_of({true, {"/usr/bin/shop"}, {&shop}}), "runs: shop (1 process)");
    EXPECT_EQ(text_of({true, {"/usr/bin/shop", "/opt/shop"}, {}}), "installed: /usr/bin/shop");
    EXPECT_EQ(text_of({true, {}, {}}), "kernel: any program");
    EXPECT_EQ(text_of({false, {}, {}}), "not installed");
    EXPECT_EQ(json::serialize(presence_json({false, {"/usr/bin/shop"}, {&shop}})),
              R"({"installed":["/usr/bin/shop"],"processes":[7]})");
}

TEST_F(PresetText, TheMostFrequentNamesAreShown) {
    std::vector<MappedProcess> processes;
    const auto add = [&](const std::string& name, int count) {
        for (int i = 0; i < count; ++i) processes.push_back({7, name, {}, {}});
    };
    const auto text = [&] {
        Presence presence;
        for (const MappedProcess& process : processes) presence.running.push_back(&process);
        return presence_text(presence);
    };
    add("a", 1);
    add("b", 3);
    add("c", 2);
    add("d", 1);
    EXPECT_EQ(text(), "runs: b (3 processes), c (2 processes), d (1 process), a (1 process)");
    add("e", 4);
    EXPECT_EQ(text(),
              "runs: e (4 processes), b (3 processes), c (2 processes), d (1 process) and 1 other "
              "name");
    add("f", 4);
    EXPECT_THAT(text(), HasSubstr(" and 2 other names"));
}

TEST_F(PresetText, PresentAreProcessesThatUseItsFiles) {
    const settings::Preset preset = load(shop_xml);
    const std::vector<MappedProcess> processes{{7, "shop", {"/usr/bin/shop"}, {}},
                                               {8, "other", {"/usr/bin/other"}, {}},
                                               {9, "paid", {"/x", "/usr/lib/libpay.so"}, {}}};
    const Presence presence = presence_of(preset, processes);
    EXPECT_FALSE(presence.kernel);
    EXPECT_THAT(presence.installed, ElementsAre());
    EXPECT_THAT(presence.running, ElementsAre(&processes[0], &processes[2]));
}

TEST_F(PresetText, JsonHasTheEventsWithTheirLengths) {
    json::object shown = preset_json(load(shop_xml));
    EXPECT_EQ(shown.at("name"), "shop");
    EXPECT_EQ(shown.at("file").as_string(), folder_.string("shop.xml"));
    EXPECT_EQ(shown.at("about"), "Requests of a shop.");
    EXPECT_EQ(shown.at("tried_with"), "shop 1.2");
    EXPECT_EQ(shown.at("limits"), (json::array{"It does not see returns."}));
    EXPECT_EQ(shown.at("scope"), true);
    EXPECT_EQ(shown.at("events").at(0).at("name"), "buy");
    EXPECT_EQ(shown.at("events").at(0).at("threshold"), "100ms");
    EXPECT_NE(shown.at("events").at(0).at("trace_length"), "");
    EXPECT_EQ(shown.at("events").at(1).at("trace_length"), "7s");
}

TEST_F(PresetText, ParametersHaveTheirDefaults) {
    const settings::Preset preset = load(shop_xml);
    const std::string length(preset_json(preset).at("events").at(0).at("trace_length").as_string());
    EXPECT_EQ(preset_parameters_text(preset, 200),
              "  events=\"buy pay\": which events; default: all\n"
              "  threshold=: for all of them; default: 100ms, p99 x 3\n"
              "  trace-length=: how long to record; default: " +
                  length +
                  ", 7s\n"
                  "  prefix=: prefix for the event names; default: none\n"
                  "  record=\"runs\": send every run to the server; default: only delays\n"
                  "  binary=: the program or library; default: /usr/bin/shop, /usr/lib/libpay.so\n"
                  "  <scope .../> inside: limits the processes; default: all\n");
}

TEST_F(PresetText, OfTheKernelHasNoBinary) {
    settings::Preset preset = load(
        R"(<preset version="1" about="Syncs." tried-with="Linux 6">
  <event name="fsync" threshold="1s">
  <begin tracepoint="syscalls:sys_enter_fsync"/><end tracepoint="syscalls:sys_exit_fsync"/></event>
</preset>)");
    EXPECT_TRUE(presence_of(preset, {}).kernel);
    preset.may_have_scope = false;
    const std::string text = preset_parameters_text(preset, 200);
    EXPECT_THAT(text, testing::Not(HasSubstr("binary=")));
    EXPECT_THAT(text, testing::EndsWith("\n  no <scope>: the kernel cannot attribute its runs to a "
                                        "process\n"));
}

// The command on a folder of the test's own.
class PresetsCommand : public testing::Test {
  protected:
    PresetsCommand() {
        ::setenv("LAGTRAP_PRESETS", folder_.path().c_str(), 1);
        test::write_text(folder_.string("shop.xml"), shop_xml);
    }
    ~PresetsCommand() override { ::unsetenv("LAGTRAP_PRESETS"); }
    test::TemporaryFolder folder_;
};

TEST_F(PresetsCommand, ListsAll) {
    EXPECT_EQ(test::run_lagtrap({"presets"}).out,
              "shop\n  Requests of a shop.\n  not installed\n\n"
              "Add <use preset=\"NAME\"/> to the settings; `lagtrap presets NAME` shows one.\n");
    const auto list = json::parse(test::run_lagtrap({"presets", "--json"}).out).as_array();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].at("name"), "shop");
    EXPECT_EQ(list[0].at("here"), json::parse(R"({"installed":[],"processes":[]})"));
}

TEST_F(PresetsCommand, ShowsOneInFull) {
    const auto outcome = test::run_lagtrap({"presets", "shop"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::StartsWith("shop  " + folder_.string("shop.xml") +
                                                 "\n  Requests of a shop.\n  tested with shop "
                                                 "1.2\n  not installed\n\nLimits\n  It does not "
                                                 "see returns.\n\nParameters of <use>\n  events="));
    EXPECT_THAT(outcome.out, HasSubstr("\nUse in the settings\n  <use preset=\"shop\"/>\n\nShort "
                                       "for\n  <event name=\"buy\""));
    const auto json = json::parse(test::run_lagtrap({"presets", "--json", "shop"}).out);
    EXPECT_THAT(std::string(json.at("xml").as_string()), HasSubstr("<event name=\"pay\""));
    EXPECT_EQ(json.at("here").at("installed"), json::array{});
    EXPECT_EQ(test::run_lagtrap({"presets", folder_.string("shop.xml")}).out, outcome.out);
}

TEST_F(PresetsCommand, WithoutLimitsHasNoHeadingForThem) {
    std::string xml = shop_xml;
    xml.erase(xml.find("  <limit"), xml.find("  <event") - xml.find("  <limit"));
    test::write_text(folder_.string("shop.xml"), xml);
    EXPECT_THAT(test::run_lagtrap({"presets", "shop"}).out, testing::Not(HasSubstr("Limits")));
}

TEST_F(PresetsCommand, ABadOneIsShownAndTheOthersListed) {
    test::write_text(folder_.string("bad.xml"), "<preset version='1'><event/></preset>");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"presets"}, {"presets", "--json"}}) {
        const auto outcome = test::run_lagtrap(words);
        EXPECT_EQ(outcome.code, 3);
        EXPECT_THAT(outcome.err, HasSubstr("bad.xml:1:"));
        EXPECT_THAT(outcome.out, HasSubstr("shop"));
    }
    EXPECT_EQ(test::run_lagtrap({"presets", "bad"}).code, 3);
}

TEST_F(PresetsCommand, AnUnknownNameIsAFailure) {
    const auto near = test::run_lagtrap({"presets", "shap"});
    EXPECT_EQ(near.code, 1);
    EXPECT_THAT(near.err, testing::EndsWith("; did you mean shop?\n"));
    EXPECT_THAT(test::run_lagtrap({"presets", "something-else"}).err,
                testing::EndsWith("; `lagtrap presets` lists all\n"));
    ::setenv("LAGTRAP_PRESETS", "/no/such/a:/no/such/b", 1);
    const auto none = test::run_lagtrap({"presets"});
    EXPECT_EQ(none.code, 1);
    EXPECT_EQ(none.err,
              "lagtrap: no presets in /no/such/a and /no/such/b; the package lagtrapd "
              "contains them\n");
}

}  // namespace
}  // namespace lagtrap::cli::preset_text_test
