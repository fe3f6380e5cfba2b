#include "settings/tracepoint_check.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/settings/marker_sources.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::settings::tracepoint_check_test {
namespace {

namespace fs = std::filesystem;
using namespace testing_sources;
using testing::ElementsAre;
using testing::IsEmpty;

class TracepointCheckTest : public testing::Test {
  protected:
    TracepointCheckTest() {
        add("block/issue",
            "\tfield:dev_t dev;\toffset:8;\tsize:4;\n\tfield:sector_t sector;\toffset:16;\tsize:8;"
            "\n\tfield:char rwbs[8];\toffset:24;\tsize:8;\n");
        add("sched/switch", "\tfield:char comm[16];\toffset:8;\tsize:16;\n");
    }
    void add(const std::string& name, const std::string& fields) const {
        const fs::path folder = folder_.path() / "events" / name;
        fs::create_directories(folder);
        std::ofstream(folder / "id") << "7\n";
        std::ofstream(folder / "format") << "\tfield:int common_pid;\toffset:4;\tsize:4;\n"
                                         << fields;
    }
    std::vector<std::string> problems(const std::vector<MarkerSource>& sources) {
        TracepointCheck check(
            [this] {
                ++opened_;
                return TraceFs::below(folder_.path());
            },
            diagnostics_);
        for (const MarkerSource& source : sources) check.check(source);
        return problems_in(diagnostics_);
    }
    static MarkerSource tracepoint(const std::string& name) {
        return source_of(MarkerKind::Tracepoint, name, "");
    }
    static MarkerSource keyed(const std::string& name, const std::string& field,
                              const std::string& second = "") {
        MarkerSource source = tracepoint(name);
        source.marker.key = ArgumentRef{0, field, second};
        return source;
    }

    trace::TemporaryDirectory folder_;
    Diagnostics diagnostics_;
    int opened_ = 0;
};

TEST_F(TracepointCheckTest, TheTracefsIsOpenedOnceIfAnyoneNeedsIt) {
    EXPECT_THAT(problems({}), IsEmpty());
    EXPECT_EQ(opened_, 0);
    EXPECT_THAT(problems({tracepoint("block:issue"), tracepoint("sched:switch")}), IsEmpty());
    EXPECT_EQ(opened_, 1);
}

TEST_F(TracepointCheckTest, UnknownTracepointsHaveTheNearestOfTheirCategory) {
    const std::string list = "lagtrap list-markers --tracepoints lists all)";
    EXPECT_THAT(problems({tracepoint("block:isue")}),
                ElementsAre("1: the kernel has no tracepoint block:isue; expected one of its "
                            "tracepoints (did you mean block:issue? (" +
                            list + ")"));
    EXPECT_THAT(problems({tracepoint("blok:issue")}),
                ElementsAre("1: the kernel has no tracepoint blok:issue; expected one of its "
                            "tracepoints (did you mean block:issue? (" +
                            list + ")"));
    EXPECT_THAT(problems({tracepoint("block:wholly_unlike")}),
                ElementsAre("1: the kernel has no tracepoint block:wholly_unlike; expected one of "
                            "its tracepoints (" +
                            list));
}

TEST_F(TracepointCheckTest, KeysAreNumbers) {
    EXPECT_THAT(
        problems({keyed("block:issue", "dev", "sector"), keyed("block:issue", "common_pid")}),
        IsEmpty());
    EXPECT_THAT(problems({keyed("block:issue", "sektor")}),
                ElementsAre("3: key is \"sektor\", which is not a number in block:issue; expected "
                            "one of dev, sector (did you mean sector?)"));
    EXPECT_THAT(problems({keyed("block:issue", "dev", "rwbs")}),
                ElementsAre("3: key is \"rwbs\", which is not a number in block:issue; expected "
                            "one of dev, sector"));
    EXPECT_THAT(problems({keyed("sched:switch", "comm")}),
                ElementsAre("3: key is \"comm\", which is not a number in sched:switch; expected "
                            "no key"));
}

TEST_F(TracepointCheckTest, BeginTimesAreNumbers) {
    MarkerSource source = tracepoint("block:issue");
    source.begin_time = ArgumentRef{0, "sector", {}};
    EXPECT_THAT(problems({source}), IsEmpty());
    source.begin_time = ArgumentRef{0, "when", {}};
    EXPECT_THAT(problems({source}),
                ElementsAre("4: begin-time is \"when\", which is not a number in block:issue; "
                            "expected one of dev, sector"));
}

TEST_F(TracepointCheckTest, FilesThatCannotBeReadAreReported) {
    fs::remove(folder_.path() / "events/block/issue/id");
    fs::create_directory(folder_.path() / "events/block/issue/id");
    const auto id = problems({tracepoint("block:issue")});
    ASSERT_EQ(id.size(), 1U);
    EXPECT_THAT(id[0], testing::StartsWith("1: tracepoint block:issue: "));
    EXPECT_THAT(id[0], testing::EndsWith("; expected a kernel with tracefs"));
    fs::remove(folder_.path() / "events/sched/switch/format");
    const auto format = problems({keyed("sched:switch", "a")});
    ASSERT_EQ(format.size(), 1U);
    EXPECT_THAT(format[0], testing::StartsWith("3: tracepoint sched:switch: "));
}

TEST_F(TracepointCheckTest, WithoutATracefsEachTracepointIsReported) {
    fs::remove_all(folder_.path() / "events");
    const auto found = problems({tracepoint("a:b"), tracepoint("a:c")});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found[1], testing::StartsWith("1: tracepoint a:c: " + folder_.path().string()));
    EXPECT_EQ(opened_, 1);
}

}  // namespace
}  // namespace lagtrap::settings::tracepoint_check_test
