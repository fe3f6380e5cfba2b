#include "server/store/choice_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::choice_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ChoiceStoreTest : public DelaysStoreTest {
  protected:
    // Two runs of `open`, the later in web.service, one of `close`, and a delay of `save`.
    void fill() {
        BatchMaker zulu("zulu"), alpha("alpha");
        trace::RecordedRun& open = zulu.add(monday + hour, ms);
        open.user = "zoe";
        open.build_id = "ef56";
        open.process = "zip";
        trace::RecordedRun& web = alpha.add(monday + 2 * hour, ms);
        web.unit = "web.service";
        alpha.add(monday, ms, "close").user = "bob";
        add(1, zulu.batch);
        add(2, alpha.batch);
        BundleDelay save = delay(1, monday + 3 * hour);
        save.event = "save";
        save.unit = "web.service";
        save.user = "dan";
        save.build = "delay build";
        save.process = "delay process";
        add_bundle(1, {save}, "gamma");
    }
};

TEST_F(ChoiceStoreTest, EachListIsSortedAndWithoutEmptyNames) {
    fill();
    const Choices open = must(everything().choices().of_event("open"));
    EXPECT_THAT(open.hosts, ElementsAre("alpha", "zulu"));
    EXPECT_THAT(open.users, ElementsAre("ann", "zoe"));
    EXPECT_THAT(open.builds, ElementsAre("cd34", "ef56"));
    EXPECT_THAT(open.processes, ElementsAre("demo", "zip"));
    EXPECT_THAT(open.units, ElementsAre("web.service"));
    EXPECT_EQ(open.from_realtime_ns, monday + hour);
    EXPECT_EQ(open.to_realtime_ns, monday + 2 * hour + 1);
    const Choices all = must(everything().choices().of_event(""));
    EXPECT_THAT(all.hosts, ElementsAre("alpha", "gamma", "zulu"));
    EXPECT_THAT(all.users, ElementsAre("ann", "bob", "dan", "zoe"));
    EXPECT_EQ(all.from_realtime_ns, monday);
    EXPECT_EQ(all.to_realtime_ns, monday + 3 * hour + 1);
    const Choices none = must(everything().choices().of_event("unheard of"));
    EXPECT_THAT(none.hosts, IsEmpty());
    EXPECT_EQ(none.from_realtime_ns, 0U);
    EXPECT_EQ(none.to_realtime_ns, 0U);
}

TEST_F(ChoiceStoreTest, OfAllEventsOnlyTheVisibleOnesCount) {
    fill();
    const Choices close = must(seen({"close"}, {}).choices().of_event(""));
    EXPECT_THAT(close.hosts, ElementsAre("alpha"));
    EXPECT_THAT(close.users, ElementsAre("bob"));
    EXPECT_THAT(close.builds, ElementsAre("cd34"));
    EXPECT_THAT(close.processes, ElementsAre("demo"));
    EXPECT_THAT(close.units, IsEmpty());
    EXPECT_EQ(close.from_realtime_ns, monday);
    EXPECT_EQ(close.to_realtime_ns, monday + 1);
    const Choices web = must(seen({}, {"web.*"}).choices().of_event(""));
    EXPECT_THAT(web.hosts, ElementsAre("alpha", "gamma"));
    EXPECT_THAT(web.users, ElementsAre("ann", "dan"));
    EXPECT_THAT(web.builds, ElementsAre("cd34", "delay build"));
    EXPECT_THAT(web.processes, ElementsAre("delay process", "demo"));
    EXPECT_THAT(web.units, ElementsAre("web.service"));
    EXPECT_EQ(web.from_realtime_ns, monday + 2 * hour);
    EXPECT_EQ(web.to_realtime_ns, monday + 3 * hour + 1);
    const Choices both = must(seen({"close"}, {"web.*"}).choices().of_event(""));
    EXPECT_THAT(both.users, ElementsAre("ann", "bob", "dan"));
    EXPECT_EQ(both.from_realtime_ns, monday);
    EXPECT_THAT(must(seen({"close"}, {"web.*"}).choices().of_event("open")).hosts,
                ElementsAre("alpha"));
    EXPECT_THAT(must(seen({"open"}, {}).choices().of_event("open")).hosts,
                ElementsAre("alpha", "zulu"));
    EXPECT_EQ(must(seen({}, {"db.*"}).choices().of_event("")).to_realtime_ns, 0U);
}

TEST_F(ChoiceStoreTest, TenThousandAreOffered) {
    fill();
    ASSERT_TRUE(
        backend_
            ->script(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                "10001) INSERT INTO label(kind, text) SELECT 3, 'user ' || i FROM n; INSERT "
                "INTO seen(event, kind, label, first_ns, last_ns) SELECT (SELECT id FROM label "
                "WHERE kind = 1 AND text = 'close'), 3, id, 1, 1 FROM label WHERE text LIKE "
                "'user %'")
            .ok());
    for (const Evidence& evidence : {everything(), seen({"close"}, {})}) {
        const Choices choices = must(evidence.choices().of_event(""));
        EXPECT_THAT(choices.users, SizeIs(10'000));
        EXPECT_THAT(choices.hosts, testing::Contains("alpha"));
    }
}

}  // namespace
}  // namespace lagtrap::server::choice_store_test
