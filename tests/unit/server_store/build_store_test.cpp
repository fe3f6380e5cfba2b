#include "server/store/build_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::build_store_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class BuildStoreTest : public RunsStoreTest {
  protected:
    void label(const BuildLabel& label) {
        ASSERT_TRUE(everything().builds().label_build(label).ok());
    }
    std::vector<std::string> labels() {
        std::vector<std::string> found;
        for (const BuildLabel& one : must(everything().builds().build_labels()))
            found.push_back(one.build + " " + one.name + " " + one.by + " " +
                            std::to_string(one.at_realtime_ns));
        return found;
    }
};

TEST_F(BuildStoreTest, TheNewestNamesComeFirstThenByBuild) {
    label({"b", "v1", "ann", 5});
    label({"c",
           "v\x1b"
           "2",
           "b\x1bob", 7});
    label({"a", "v3", "", 5});
    EXPECT_THAT(labels(), ElementsAre("c v\\x1b"
                                      "2 b\\x1bob 7",
                                      "a v3  5", "b v1 ann 5"));
    label({"b", "v1.1", "rita", 9});
    EXPECT_THAT(labels(), ElementsAre("b v1.1 rita 9",
                                      "c v\\x1b"
                                      "2 b\\x1bob 7",
                                      "a v3  5"));
    label({"c", "", "rita", 9});
    EXPECT_THAT(labels(), ElementsAre("b v1.1 rita 9", "a v3  5"));
}

TEST_F(BuildStoreTest, MachinesNameWhatHasNoNameYet) {
    BatchMaker maker;
    for (const char* build : {"ab12", "cd34", "ef56"}) maker.add(monday, ms).build_id = build;
    maker.batch.runs[0].thread = "thread";
    add(1, maker.batch);
    label({"ab12", "v1", "ann", 5});
    ASSERT_TRUE(everything()
                    .builds()
                    .name_builds({{"ab12", "p1", "pack", 6},
                                  {"cd34",
                                   "p\x1b"
                                   "2",
                                   "pa\x1b"
                                   "ck",
                                   6},
                                  {"thread", "p3", "pack", 6}})
                    .ok());
    EXPECT_THAT(labels(), ElementsAre("cd34 p\\x1b"
                                      "2 pa\\x1b"
                                      "ck 6",
                                      "ab12 v1 ann 5"));
}

TEST_F(BuildStoreTest, TheNewestTenThousandAreShown) {
    ASSERT_TRUE(
        backend_
            ->script("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                     "i < 10001) INSERT INTO build_label(build, name, author, at_ns) SELECT "
                     "'build ' || i, 'v', '', i FROM n")
            .ok());
    const auto found = must(everything().builds().build_labels());
    ASSERT_THAT(found, SizeIs(10'000));
    EXPECT_EQ(found.back().at_realtime_ns, 2U);
}

TEST_F(BuildStoreTest, OnlyVisibleBuildsAreNamedByPeopleWithASight) {
    BatchMaker maker;
    maker.add(monday, ms).build_id = "ab12";
    maker.add(monday, ms, "close").build_id = "cd34";
    maker.add(monday, ms, "close").build_id = "aa11";
    add(1, maker.batch);
    for (const char* build : {"ab12", "cd34", "aa11", "unknown"}) label({build, "v1", "", 1});
    const BuildStore closing = seen({"close"}, {}).builds();
    EXPECT_THAT(must(closing.build_labels()), SizeIs(2));
    EXPECT_TRUE(closing.label_build({"aa11", "v2", "", 2}).ok());
    EXPECT_EQ(closing.label_build({"ab12", "", "", 2}).error().kind, ErrorKind::Denied);
    EXPECT_THAT(labels(), SizeIs(4));
    EXPECT_EQ(closing.name_builds({}).error().kind, ErrorKind::Denied);
}

}  // namespace
}  // namespace lagtrap::server::build_store_test
