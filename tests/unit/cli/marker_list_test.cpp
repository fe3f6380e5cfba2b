#include "cli/programs/marker_list.hpp"

#include <filesystem>
#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/programs/tracepoint_list.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::marker_list_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FileMarkers shop() {
    FileMarkers file;
    file.path = "/opt/shop";
    file.probes = {{"shop", "query__start", 0, 1, true},
                   {"shop", "query__done", 1, 2, true},
                   {"shop", "other", 3, 1, true},
                   {"shop", "moved", 3, 1, false},
                   {"shop", "a b", 0, 1, true}};
    return file;
}

TEST(MarkersText, HasAnElementForEachProbeThatCanBeWatched) {
    EXPECT_EQ(markers_text({shop()}, false),
              "/opt/shop\n"
              "  <begin usdt=\"shop:query__start\" binary=\"/opt/shop\"/>  <!-- no arguments -->\n"
              "  <end usdt=\"shop:query__done\" binary=\"/opt/shop\"/>  <!-- arg0, 2 locations "
              "-->\n"
              "  <begin usdt=\"shop:other\" binary=\"/opt/shop\"/>  <!-- arg0 to arg2 -->\n"
              "  <!-- shop:moved: not available: the settings cannot name it -->\n"
              "  <!-- shop:a b: not available: the settings cannot name it -->\n");
}

TEST(MarkersText, HasFunctionsWithTheWayToWatchThem) {
    FileMarkers file;
    file.path = "/opt/shop";
    file.functions = {"abort_all", "sell(int)", "twin", "work"};
    file.ways.emplace();
    file.ways->functions = {{"abort_all", "abort_all", "never returns", false},
                            {"sell(int)", "_Z4selli", "at its return", true},
                            {"twin", "", "at its return", true},
                            {"work", "work", "at its return", true}};
    file.ways->count = 4;
    file.ways->watched = 3;
    file.ways->nothing_to_watch = 1;
    file.libraries = {"/lib/libshop.so"};
    const std::string text = markers_text({file}, true);
    EXPECT_EQ(text,
              "/opt/shop\n"
              "  no USDT probes\n"
              "  <!-- abort_all: never returns -->\n"
              "  <function name=\"_Z4selli\" binary=\"/opt/shop\"/>  <!-- sell(int): at its "
              "return -->\n"
              "  <!-- twin: not available: it has no unique name that the settings can contain "
              "-->\n"
              "  <function name=\"work\" binary=\"/opt/shop\"/>  <!-- at its return -->\n"
              "  " +
                  file.ways->summary() +
                  "\n"
                  "  needs /lib/libshop.so\n");
    EXPECT_THAT(text, HasSubstr("4 functions: 3 can be watched"));
    const auto json = markers_json({file}, true);
    EXPECT_EQ(boost::json::serialize(json),
              R"j([{"path":"/opt/shop","usdt":[],"functions":["abort_all","sell(int)",)j"
              R"j("twin","work"],"ways":{"abort_all":"never returns",)j"
              R"j("sell(int)":"at its return","twin":"at its return","work":"at its return"},)j"
              R"j("function_count":4,"watchable_count":3,"nothing_to_watch_count":1,)j"
              R"j("libraries":["/lib/libshop.so"]}])j");
    EXPECT_FALSE(markers_json({file}, false).at(0).as_object().contains("functions"));
}

TEST(MarkersText, SaysThatThereIsNothing) {
    EXPECT_EQ(markers_text({}, false),
              "the process has no USDT probes; --functions lists functions\n");
    FileMarkers empty;
    empty.path = "/opt/shop";
    empty.ways.emplace();
    EXPECT_EQ(markers_text({empty, empty}, true),
              "/opt/shop\n  no USDT probes\n  no function names\n\n"
              "/opt/shop\n  no USDT probes\n  no function names\n");
    EXPECT_EQ(markers_text({empty}, false), "/opt/shop\n  no USDT probes\n");
    FileMarkers one = shop();
    one.probes.resize(2);
    EXPECT_EQ(boost::json::serialize(markers_json({one}, false)),
              R"([{"path":"/opt/shop","usdt":[{"provider":"shop","name":"query__start",)"
              R"("arguments":0,"sites":1},{"provider":"shop","name":"query__done","arguments":1,)"
              R"("sites":2}],"libraries":[]}])");
}

class TracepointList : public testing::Test {
  protected:
    TracepointList() {
        add("block", "rq_issue",
            "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
            "\tfield:unsigned int dev;\toffset:8;\tsize:4;\tsigned:0;\n"
            "\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n"
            "\tfield:unsigned long sector;\toffset:16;\tsize:8;\tsigned:0;\n");
        add("block", "rq_done", "");
        add("sched", "wakeup", "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n");
        std::filesystem::create_directories(folder_.path() / "events/ftrace/print");
    }
    void add(const std::string& category, const std::string& name, const std::string& format) {
        const auto place = folder_.path() / "events" / category / name;
        std::filesystem::create_directories(place);
        std::ofstream(place / "id") << "7\n";
        std::ofstream(place / "format") << format;
    }
    [[nodiscard]] std::vector<Tracepoint> like(const std::string& pattern) const {
        return tracepoints_like(settings::TraceFs::below(folder_.path()).value(), pattern);
    }
    [[nodiscard]] std::vector<std::string> names_like(const std::string& pattern) const {
        std::vector<std::string> names;
        for (const Tracepoint& one : like(pattern)) names.push_back(one.category + ":" + one.name);
        return names;
    }
    test::TemporaryFolder folder_;
};

TEST_F(TracepointList, FindsNamesByPatternOrPart) {
    EXPECT_THAT(names_like(""), ElementsAre("block:rq_done", "block:rq_issue", "sched:wakeup"));
    EXPECT_THAT(names_like("k:rq"), ElementsAre("block:rq_done", "block:rq_issue"));
    EXPECT_THAT(names_like("rq_*"), ElementsAre());  // a pattern is for the whole name
    EXPECT_THAT(names_like("*:rq_i*"), ElementsAre("block:rq_issue"));
    EXPECT_THAT(names_like("sched:wake?p"), ElementsAre("sched:wakeup"));
    EXPECT_THAT(names_like("[s]ched:wakeup"), ElementsAre("sched:wakeup"));
    EXPECT_THAT(names_like("print"), ElementsAre());  // it has no id
}

TEST_F(TracepointList, NamesTheFieldsThatAreNumbers) {
    EXPECT_EQ(tracepoints_text(like("block")),
              "<begin tracepoint=\"block:rq_done\"/>  <!-- no field can be a key -->\n"
              "<begin tracepoint=\"block:rq_issue\"/>  <!-- key: dev, sector -->\n");
    EXPECT_EQ(boost::json::serialize(tracepoints_json(like("issue"))),
              R"([{"category":"block","name":"rq_issue","numbers":["dev","sector"]}])");
    EXPECT_EQ(tracepoints_text({{"a b", "c", {}}}),
              "<!-- a b:c: not available: the settings cannot name it -->\n");
}

}  // namespace
}  // namespace lagtrap::cli::marker_list_test
