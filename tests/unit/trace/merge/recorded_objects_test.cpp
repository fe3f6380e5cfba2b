#include "trace/merge/recorded_objects.hpp"

#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::recorded_objects_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t pid = 12;

std::vector<std::string> lines_of(bool ended, const std::string& class_name = "Cart") {
    calls::ObjectsSummary summary;
    calls::ObjectsReply started;
    started.started.emplace();
    started.started->pid = pid;
    started.started->process = "shop";
    started.started->classes = {class_name};
    started.started->functions.resize(1);
    EXPECT_TRUE(summary.add(std::move(started)).ok());
    if (ended) {
        calls::ObjectsReply last;
        last.ended.emplace();
        last.ended->length_ns = 1'000;
        last.ended->classes = {{5, 2, 3, 1, 0, 0, 0, 0, 0}};
        EXPECT_TRUE(summary.add(std::move(last)).ok());
    }
    return summary.lines(10);
}

TEST(RecordedObjects, AreShownForTheirProcessAlone) {
    SystemFile file;
    file.objects = lines_of(true);
    const auto shown = objects_json(file, pid, 10);
    ASSERT_TRUE(shown.is_object());
    EXPECT_EQ(objects_of(file).summary.started().process, "shop");
    EXPECT_TRUE(objects_json(file, pid + 1, 10).is_null());
    EXPECT_TRUE(objects_json(SystemFile(), pid, 10).is_null());
}

class RecordedObjectsTest : public testing::Test {
  protected:
    SystemFile reported(const std::vector<std::string>& lines) {
        std::ofstream out(folder_.path() / "objects.jsonl");
        for (const std::string& line : lines) out << line << "\n";
        out.close();
        SystemFile file;
        report_objects(folder_.path(), file);
        return file;
    }
    TemporaryDirectory folder_;
};

TEST_F(RecordedObjectsTest, AreKeptInTheSystemFile) {
    const SystemFile file = reported(lines_of(true));
    EXPECT_TRUE(objects_of(file).summary.ended());
    EXPECT_THAT(file.quality.omitted, IsEmpty());
}

TEST_F(RecordedObjectsTest, SayWhyTheyAreMissing) {
    EXPECT_THAT(
        reported(lines_of(false)).quality.omitted,
        ElementsAre("objects were not followed: lagtrapd exited before it reported the counts"));
    const SystemFile large = reported(lines_of(true, std::string(600 << 10, 'C')));
    EXPECT_THAT(large.objects, IsEmpty());
    EXPECT_THAT(
        large.quality.omitted,
        ElementsAre("objects were not followed: their names are too large; use fewer classes, "
                    "or --exclude"));
    auto damaged = lines_of(true);
    damaged.insert(damaged.begin() + 1, "{\"no\":");
    EXPECT_THAT(reported(damaged).quality.omitted,
                ElementsAre(testing::StartsWith("objects were not followed: ")));
}

}  // namespace
}  // namespace lagtrap::trace::recorded_objects_test
