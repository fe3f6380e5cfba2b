// <use> of presets: the events it creates, and its messages about presets with errors and programs
// that lack something.
#include "settings/preset.hpp"

#include <cstdlib>

#include <gmock/gmock.h>

#include "settings/element_text.hpp"
#include "settings/values.hpp"
#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::preset_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_files;
using testing::ElementsAre;
using testing::HasSubstr;

class Presets : public testing::Test {
  protected:
    Presets() {
        std::string name = "/tmp/lagtrap-presets-XXXXXX";
        folder_ = mkdtemp(name.data());
        ::setenv("LAGTRAP_PRESETS", folder_.c_str(), 1);
    }
    ~Presets() override {
        std::filesystem::remove_all(folder_);
        ::unsetenv("LAGTRAP_PRESETS");
    }

    std::filesystem::path write(const std::string& name, const std::string& inside,
                                const std::string& more = "") {
        const auto file = folder_ / (name + ".xml");
        std::ofstream(file) << "<preset version='1' about='Calls' tried-with='shop 1.0' " << more
                            << ">\n"
                            << inside << "\n</preset>\n";
        return file;
    }
    // Two events of one program, one of them with a marker in another file.
    void write_shop(const std::string& more = "") {
        write("shop",
              "<program path='/no/such/shop'/>\n"
              "<event name='buy' threshold='50ms' trace-length='2s' binary='*/shop'><function "
              "name='buy'/></event>\n"
              "<event name='pay' threshold='1s' trace-length='3s' binary='*/shop'><key/><begin "
              "function='pay' key='arg0'/>"
              "<end usdt='bank:paid' key='arg1' binary='*/bank'/></event>",
              more);
    }

    std::filesystem::path folder_;
};

std::string with(const std::string& uses) {
    return "<lagtrap version=\"1\">\n" + uses + "\n</lagtrap>\n";
}

Settings good(const std::string& uses) {
    const ParseOutcome outcome = parse_settings(with(uses), BinaryCheck::Skip);
    EXPECT_EQ(format_diagnostics("settings.xml", with(uses), outcome.diagnostics), "");
    return outcome.settings;
}

TEST_F(Presets, MakeTheirEvents) {
    write_shop();
    const Settings settings = good("<use preset='shop'/>");
    ASSERT_EQ(settings.events.size(), 2);
    EXPECT_EQ(settings.events[0].name, "buy");
    EXPECT_EQ(settings.events[0].threshold, 50ms);
    EXPECT_EQ(settings.events[0].begin.binary, "*/shop");
    EXPECT_EQ(settings.events[0].begin.line, 2);  // of <use>
    EXPECT_EQ(settings.events[1].key, KeyKind::Argument);
    EXPECT_EQ(settings.events[1].end.binary, "*/bank");
}

TEST_F(Presets, TakeTheParametersOfTheUse) {
    write_shop();
    const Settings settings = good(
        "<use preset='shop' events='pay' threshold='7ms' trace-length='4s..5s' prefix='eu-' "
        "binary='/opt/shop' record='runs'><scope user='root'/></use>");
    ASSERT_EQ(settings.events.size(), 1);
    const Event& pay = settings.events[0];
    EXPECT_EQ(pay.name, "eu-pay");
    EXPECT_EQ(pay.threshold, 7ms);
    EXPECT_EQ(pay.trace_length, 4s);
    EXPECT_EQ(pay.trace_length_limit, 5s);
    EXPECT_EQ(pay.record, RecordMode::Runs);
    EXPECT_EQ(pay.scope.uid, 0);
    EXPECT_EQ(pay.begin.binary, "/opt/shop");
    EXPECT_EQ(pay.end.binary, "*/bank");
}

TEST_F(Presets, HaveTheirOwnScopeUnlessTheUseHasOne) {
    write("scoped",
          "<event name='a' threshold='5s' trace-length='1s'><scope pid='7'/><function name='f' "
          "binary='/f'/></event>");
    const Settings own = good("<use preset='scoped'/>");
    ASSERT_EQ(own.events.size(), 1);
    EXPECT_EQ(own.events[0].scope.pid, 7);
    const Settings given = good("<use preset='scoped'><scope user='root'/></use>");
    ASSERT_EQ(given.events.size(), 1);
    EXPECT_EQ(given.events[0].scope.pid, std::nullopt);
    EXPECT_EQ(given.events[0].scope.uid, 0);
}

TEST_F(Presets, AreUsedTwiceWithAPrefix) {
    write_shop();
    EXPECT_THAT(check(with("<use preset='shop'/>\n<use preset='shop'/>"), BinaryCheck::Skip),
                HasSubstr("settings.xml:3:1: a second event \"buy\""));
    EXPECT_EQ(good("<use preset='shop'/>\n<use preset='shop' prefix='b-'/>").events.size(), 4);
    EXPECT_THAT(check(with("<use preset='shop' prefix='" + std::string(61, 'a') + "'/>"),
                      BinaryCheck::Skip),
                HasSubstr("settings.xml:2:20: this makes an event name \"aaa"));
}

TEST_F(Presets, ThatAreNotThereAreNamedWithTheNearest) {
    write_shop();
    const std::string text = check(with("<use preset='shp'/>"), BinaryCheck::Skip);
    EXPECT_THAT(text,
                HasSubstr("settings.xml:2:6: there is no preset \"shp\" in " + folder_.string()));
    EXPECT_THAT(text, HasSubstr("hint: did you mean shop?"));
    EXPECT_THAT(check(with("<use preset='../shop'/>"), BinaryCheck::Skip),
                HasSubstr("preset is \"../shop\""));
}

TEST_F(Presets, WithErrorsNameTheirFileAndTheUse) {
    const auto file = write("bad",
                            "<event name='a' threshold='5sx' trace-length='1s'><function name='f' "
                            "binary='/f'/></event>");
    EXPECT_THAT(check(with("<use preset='bad'/>"), BinaryCheck::Skip),
                HasSubstr("settings.xml:2:6: preset bad: " + file.string() +
                          ":2:17: threshold is \"5sx\""));
    write("empty", "");
    EXPECT_THAT(check(with("<use preset='empty'/>"), BinaryCheck::Skip),
                HasSubstr("the preset has no events"));
    std::ofstream(folder_ / "settings.xml") << "<lagtrap version='1'/>";
    EXPECT_THAT(check(with("<use preset='settings'/>"), BinaryCheck::Skip),
                HasSubstr("the root element is <lagtrap>; expected <preset version=\"1\">"));
}

TEST_F(Presets, RefuseParametersThatMeanNothing) {
    write_shop("scope='no'");
    write("kernel",
          "<event name='k' threshold='5s' trace-length='1s'><begin tracepoint='a:b'/><end "
          "tracepoint='a:c'/></event>");
    EXPECT_THAT(check(with("<use preset='shop' events='buy pya'/>"), BinaryCheck::Skip),
                testing::AllOf(HasSubstr("settings.xml:2:20: preset shop has no event \"pya\""),
                               HasSubstr("did you mean pay?")));
    EXPECT_THAT(check(with("<use preset='shop'><scope pid='1'/></use>"), BinaryCheck::Skip),
                HasSubstr("settings.xml:2:20: a <scope> for preset shop"));
    EXPECT_THAT(check(with("<use preset='kernel' binary='/a'/>"), BinaryCheck::Skip),
                HasSubstr("binary for preset kernel, whose markers are in the kernel"));
    EXPECT_THAT(check(with("<use preset='shop' events='buy buy'/>"), BinaryCheck::Skip),
                HasSubstr("buy is listed twice"));
}

TEST_F(Presets, WithoutTheirProgramAreNoted) {
    write_shop();
    const ParseOutcome outcome = parse_settings(with("<use preset='shop'/>"), BinaryCheck::Look);
    EXPECT_TRUE(outcome.ok());
    ASSERT_EQ(outcome.notes.size(), 1);
    EXPECT_EQ(outcome.notes[0].line, 2);
    EXPECT_THAT(outcome.notes[0].text,
                HasSubstr("none of its programs is installed (/no/such/shop)"));
}

// This test's own program stands for an installed one; it has no such function.
TEST_F(Presets, WhoseProgramChangedSaySo) {
    const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string name = std::filesystem::path(own).filename().string();
    const auto shop = [&](const std::string& programs) {
        write("shop", programs + "<event name='buy' threshold='50ms' trace-length='2s' binary='*/" +
                          name + "'><function name='no_such_function'/></event>");
        return parse_settings(with("  <use preset='shop'/>"), BinaryCheck::Look);
    };
    const ParseOutcome changed = shop("<program path='" + own + "'/>");
    ASSERT_EQ(changed.diagnostics.size(), 1);
    EXPECT_EQ(changed.diagnostics[0].line, 2);
    EXPECT_EQ(changed.diagnostics[0].column, 3);
    EXPECT_THAT(changed.diagnostics[0].found, HasSubstr("preset shop: "));
    EXPECT_THAT(changed.diagnostics[0].found, HasSubstr("has no function \"no_such_function\""));
    EXPECT_THAT(changed.diagnostics[0].hint, HasSubstr("the preset was tested with shop 1.0"));
}

TEST_F(Presets, FindTheInstalledProgramsByTheirPaths) {
    for (const char* version : {"1", "2"}) {
        std::filesystem::create_directories(folder_ / version);
        std::ofstream(folder_ / version / "shop") << "x";
    }
    std::filesystem::create_symlink(folder_ / "2/shop", folder_ / "2/other");
    EXPECT_THAT(
        installed_programs({folder_ / "*/shop", folder_ / "2/other", "*/shop", "/no/such/file"}),
        ElementsAre(folder_ / "1/shop", folder_ / "2/shop"));
}

TEST_F(Presets, AreSettingsAgainWhenTheyAreShown) {
    write_shop();
    const auto loaded = load_preset(folder_ / "shop.xml");
    ASSERT_TRUE(loaded.preset);
    std::string text;
    for (const Element& event : loaded.preset->events) text += element_text(event, 2);
    EXPECT_EQ(check(with(text), BinaryCheck::Skip), "");
    EXPECT_THAT(text, HasSubstr("    <end usdt=\"bank:paid\" binary=\"*/bank\" key=\"arg1\"/>\n"));
}

TEST_F(Presets, OfTheAdministratorComeFirst) {
    write_shop();
    std::filesystem::create_directories(folder_ / "own");
    ::setenv("LAGTRAP_PRESETS", ((folder_ / "own").string() + ":" + folder_.string()).c_str(), 1);
    EXPECT_EQ(*find_preset("shop"), folder_ / "shop.xml");
    std::filesystem::copy_file(folder_ / "shop.xml", folder_ / "own/shop.xml");
    EXPECT_EQ(*find_preset("shop"), folder_ / "own/shop.xml");
    EXPECT_THAT(preset_names(), ElementsAre("shop"));
}

// The programs installed on the testing machine must have everything that presets name.
TEST(ShippedPresets, AreGoodOnThisMachine) {
    const auto names = preset_names();
    EXPECT_GE(names.size(), 18);
    std::string uses;
    for (const std::string& name : names) uses += "<use preset='" + name + "'/>\n";
    EXPECT_EQ(check(with(uses), BinaryCheck::Look), "");
}

}  // namespace
}  // namespace lagtrap::settings::preset_test
