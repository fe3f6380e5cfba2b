#include "settings/preset_use.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdlib>

#include <gmock/gmock.h>

#include "settings/element_text.hpp"
#include "tests/unit/settings/files.hpp"
#include "tests/unit/settings/marker_sources.hpp"

namespace lagtrap::settings::preset_use_test {
namespace {

using namespace testing_files;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class PresetUseTest : public testing::Test {
  protected:
    PresetUseTest() {
        std::array<char, 32> name{"/dev/shm/preset-use-XXXXXX"};
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        folder_ = name.data();
        ::chmod(folder_.c_str(), 0755);
        ::setenv("LAGTRAP_PRESETS", folder_.c_str(), 1);
        write("shop",
              "<event name='buy' threshold='50ms' trace-length='2s' binary='*/shop'>"
              "<begin usdt='a:b' binary='*/shop'/><end usdt='a:c' binary='*/bank'/></event>"
              "<event name='pay' threshold='auto'><begin usdt='a:d' binary='*/shop'/>"
              "<end usdt='a:e' binary='*/shop'/><scope binary='/usr/bin/shop'/></event>");
    }
    ~PresetUseTest() override {
        std::filesystem::remove_all(folder_);
        ::unsetenv("LAGTRAP_PRESETS");
    }

    void write(const std::string& name, const std::string& inside,
               const std::string& more = "") const {
        const auto file = folder_ / (name + ".xml");
        std::ofstream(file) << "<preset version='1' about='a' tried-with='b' " << more << ">\n"
                            << inside << "\n</preset>\n";
        ::chmod(file.c_str(), 0644);
    }
    // The events of this <use>, as text.
    std::string used(const std::string& use) {
        text_ = "<lagtrap version='1'>\n  " + use + "</lagtrap>";
        const LineIndex index(text_);
        root_ = read_document(index, diagnostics_).value();
        used_ = use_preset(root_.children.at(0), diagnostics_);
        std::string text;
        if (used_)
            for (const Element& event : used_->events) text += element_text(event, 0);
        return text;
    }
    std::vector<std::string> problems() { return testing_sources::problems_in(diagnostics_); }

    std::filesystem::path folder_;
    std::string text_;
    Element root_;
    std::optional<UsedPreset> used_;
    Diagnostics diagnostics_;
};

TEST_F(PresetUseTest, ItsEventsAreThoseOfThePresetAtThePlaceOfTheUse) {
    EXPECT_EQ(used("<use preset='shop'/>"),
              "<event name=\"buy\" threshold=\"50ms\" trace-length=\"2s\" binary=\"*/shop\">\n"
              "  <begin usdt=\"a:b\" binary=\"*/shop\"/>\n"
              "  <end usdt=\"a:c\" binary=\"*/bank\"/>\n"
              "</event>\n"
              "<event name=\"pay\" threshold=\"auto\">\n"
              "  <begin usdt=\"a:d\" binary=\"*/shop\"/>\n"
              "  <end usdt=\"a:e\" binary=\"*/shop\"/>\n"
              "  <scope binary=\"/usr/bin/shop\"/>\n"
              "</event>\n");
    EXPECT_THAT(problems(), IsEmpty());
    const Element& begin = used_->events.at(1).children.at(0);
    for (const Place place :
         {used_->events.at(1).place, begin.place, begin.attribute("usdt")->place}) {
        EXPECT_EQ(place.line, 2U);
        EXPECT_EQ(place.column, 3U);
    }
    EXPECT_EQ(used_->preset.name, "shop");
}

TEST_F(PresetUseTest, ItReplacesTheirValues) {
    EXPECT_EQ(used("<use preset='shop' events='pay' threshold='p99 x 2' threshold-floor='3ms' "
                   "trace-length='4s..5s' record='runs' prefix='eu-' binary='/opt/shop'>"
                   "<scope pid='7'/></use>"),
              "<event name=\"eu-pay\" threshold=\"p99 x 2\" threshold-floor=\"3ms\"\n"
              "       trace-length=\"4s..5s\" record=\"runs\">\n"
              "  <begin usdt=\"a:d\" binary=\"/opt/shop\"/>\n"
              "  <end usdt=\"a:e\" binary=\"/opt/shop\"/>\n"
              "  <scope pid=\"7\"/>\n"
              "</event>\n");
    EXPECT_THAT(problems(), IsEmpty());
    const Element& pay = used_->events.at(0);
    EXPECT_EQ(pay.attribute("threshold-floor")->number, 3'000'000U);
    EXPECT_EQ(pay.attribute("record")->spec, &pay.spec->attributes[8]);
    // Errors about what the <use> gives point at it there.
    EXPECT_EQ(pay.attribute("threshold")->place.column, 35U);
    EXPECT_EQ(pay.attribute("name")->place.column, 113U);
}

TEST_F(PresetUseTest, ABinaryReplacesThePresetsOwnOnly) {
    EXPECT_EQ(used("<use preset='shop' events='buy' binary='/opt/shop'/>"),
              "<event name=\"buy\" threshold=\"50ms\" trace-length=\"2s\" binary=\"/opt/shop\">\n"
              "  <begin usdt=\"a:b\" binary=\"/opt/shop\"/>\n"
              "  <end usdt=\"a:c\" binary=\"*/bank\"/>\n"
              "</event>\n");
}

TEST_F(PresetUseTest, ChoosesEventsInThePresetsOrder) {
    EXPECT_THAT(used("<use preset='shop' events='pay buy'/>"), StartsWith("<event name=\"buy\""));
    EXPECT_EQ(used_->events.size(), 2U);
    used("<use preset='shop' events='sell pay'/>");
    EXPECT_EQ(used_->events.size(), 1U);
    EXPECT_THAT(problems(), ElementsAre("2: preset shop has no event \"sell\"; expected some of "
                                        "buy, pay"));
    used("<use preset='shop' events='by'/>");
    EXPECT_THAT(problems(), ElementsAre("2: preset shop has no event \"by\"; expected some of buy, "
                                        "pay (did you mean buy?)"));
}

TEST_F(PresetUseTest, UnknownPresetsAreAskedAbout) {
    EXPECT_EQ(used("<use preset='shp'/>"), "");
    EXPECT_FALSE(used_);
    EXPECT_THAT(problems(), ElementsAre("2: there is no preset \"shp\" in " + folder_.string() +
                                        "; expected the name of a preset (did you mean shop?)"));
    EXPECT_EQ(used("<use preset='wholly-unlike'/>"), "");
    EXPECT_THAT(problems(), ElementsAre(EndsWith("(`lagtrap presets` lists them)")));
    used("<use/>");
    EXPECT_FALSE(used_);
    EXPECT_THAT(problems(), ElementsAre(StartsWith("2: <use> has no preset")));
}

TEST_F(PresetUseTest, AFewOfAPresetsErrorsAreShown) {
    const std::string file = (folder_ / "bad.xml").string();
    const auto event_with = [](const std::string& name) {
        return "<event name='" + name + "' threshold='5x'><run-queue/></event>\n";
    };
    write("bad", event_with("a") + event_with("b") + event_with("c"));
    used("<use preset='bad'/>");
    EXPECT_FALSE(used_);
    EXPECT_THAT(problems(),
                ElementsAre(StartsWith("2: preset bad: " + file + ":2:17: threshold is \"5x\"; "),
                            StartsWith("2: preset bad: " + file + ":3:17: "),
                            StartsWith("2: preset bad: " + file + ":4:17: ")));
    write("bad",
          event_with("a") + event_with("b") + event_with("c") + event_with("d") + event_with("e"));
    used("<use preset='bad'/>");
    const auto many = problems();
    ASSERT_EQ(many.size(), 4U);
    EXPECT_EQ(many[3], "2: preset bad has 2 more errors; expected none (lagtrap presets " + file +
                           " shows all)");
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    used("<use preset='bad'/>");
    EXPECT_THAT(problems(),
                ElementsAre("2: preset bad: " + file + ": not a regular file; expected a preset"));
}

TEST_F(PresetUseTest, PresetsThatOthersCanChangeAreWarnedOf) {
    used("<use preset='shop'/>");
    EXPECT_THAT(diagnostics_.take_warnings(), IsEmpty());
    const std::string file = (folder_ / "shop.xml").string();
    ::chmod(file.c_str(), 0666);
    used("<use preset='shop'/>");
    EXPECT_TRUE(used_);
    EXPECT_THAT(testing_sources::texts_of(diagnostics_.take_warnings()),
                ElementsAre("2: " + file +
                            " is writable by everyone; expected only root and the owner: whoever "
                            "can change a preset chooses what is watched"));
}

TEST_F(PresetUseTest, ParametersThatMeanNothingAreRefused) {
    const std::string kernel =
        "<event name='k' threshold='1s'><begin tracepoint='a:b'/><end tracepoint='a:c'/>"
        "<scope binary='/a'/></event>";
    write("kernel", kernel);
    write("anywhere", kernel, "scope='no'");
    used("<use preset='kernel' binary='/a'/>");
    EXPECT_THAT(problems(),
                ElementsAre("2: binary for preset kernel, whose markers are in the kernel; "
                            "expected none (<scope> selects the processes)"));
    used("<use preset='anywhere' binary='/a'><scope pid='1'/></use>");
    EXPECT_THAT(problems(),
                ElementsAre("2: binary for preset anywhere, whose markers are in the kernel; "
                            "expected none",
                            "2: a <scope> for preset anywhere; expected none (the kernel hits its "
                            "markers in arbitrary processes)"));
    used("<use preset='kernel'><scope pid='1'/></use>");
    EXPECT_THAT(problems(), IsEmpty());
    EXPECT_THAT(used("<use preset='shop' events='pay' binary='/a'/>"),
                HasSubstr("binary=\"/a\"/>\n  <scope binary=\"/usr/bin/shop\"/>"));
    EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(PresetUseTest, APrefixMakesGoodNames) {
    used("<use preset='shop' prefix='" + std::string(60, 'p') + "'/>");
    EXPECT_THAT(problems(), IsEmpty());
    const std::string prefix(61, 'p');
    used("<use preset='shop' prefix='" + prefix + "'/>");
    EXPECT_FALSE(used_->events.at(0).attribute("name")->valid);
    const auto problem = [&](const std::string& name) {
        return "2: this makes an event name \"" + prefix + name +
               "\"; expected 1 to 63 letters, digits, _ and -, not beginning with a digit or -";
    };
    EXPECT_THAT(problems(), ElementsAre(problem("buy"), problem("pay")));
}

}  // namespace
}  // namespace lagtrap::settings::preset_use_test
