#include "server/store/bundle_inventory.hpp"

#include <gmock/gmock.h>

#include "server/store/database.hpp"
#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::bundle_inventory_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class BundleInventoryTest : public DelaysStoreTest {
  protected:
    ErrorKind refusal(const BundleDelay& delay) {
        const auto set =
            store_->inventory().set_contents(digest_of(1), {}, {}, {this->delay(9, monday), delay});
        EXPECT_FALSE(set.ok());
        return set.ok() ? ErrorKind::System : set.error().kind;
    }
};

TEST_F(BundleInventoryTest, TotalsCountBundlesBytesBadOnesAndDelays) {
    const Totals nothing = must(store_->inventory().totals());
    EXPECT_EQ(nothing.bundles + nothing.bytes + nothing.bad + nothing.delays, 0U);
    add_bundle(1, {delay(1, monday), delay(2, monday)});
    add_bundle(2, {delay(1, monday)});
    add_bundle(3, {});
    ASSERT_TRUE(must(store_->inventory().set_contents(digest_of(3), {}, "torn", {})));
    const Totals totals = must(store_->inventory().totals());
    EXPECT_EQ(totals.bundles, 3U);
    EXPECT_EQ(totals.bytes, 600U);
    EXPECT_EQ(totals.bad, 1U);
    EXPECT_EQ(totals.delays, 3U);
}

TEST_F(BundleInventoryTest, ALongProfileOrDetailsOrATimeBeyondTheStoreIsRefused) {
    add_bundle(1, {delay(1, monday)});
    BundleDelay made = delay(2, monday);
    made.profile.assign(profile_limit_bytes + 1, 'x');
    EXPECT_EQ(refusal(made), ErrorKind::TooLarge);
    made = delay(2, monday);
    made.details.assign(profile_limit_bytes + 1, 'x');
    EXPECT_EQ(refusal(made), ErrorKind::TooLarge);
    EXPECT_EQ(refusal(delay(2, (last_hour + 1) * hour_ns)), ErrorKind::Invalid);
    EXPECT_THAT(must(everything().delays().of_bundle(digest_of(1))), SizeIs(1))
        << "the earlier contents stay";
    made = delay(2, (last_hour + 1) * hour_ns - 1, UINT64_MAX);
    made.threshold_ns = UINT64_MAX;
    made.profile.assign(profile_limit_bytes, 'x');
    made.details.assign(profile_limit_bytes, 'x');
    ASSERT_TRUE(must(store_->inventory().set_contents(digest_of(1), {}, {}, {made})));
    const StoredDelay stored = must(everything().delays().of_bundle(digest_of(1))).at(0);
    EXPECT_EQ(stored.delay.profile.size(), profile_limit_bytes);
    EXPECT_EQ(stored.delay.details.size(), profile_limit_bytes);
    EXPECT_EQ(stored.delay.duration_ns, static_cast<std::uint64_t>(INT64_MAX));
    EXPECT_EQ(stored.delay.threshold_ns, static_cast<std::uint64_t>(INT64_MAX));
}

TEST_F(BundleInventoryTest, ContentsReplaceThoseOfTheirBundleOnly) {
    add_bundle(1, {delay(1, monday), delay(2, monday)});
    add_bundle(2, {delay(3, monday)});
    BundleFacts facts;
    facts.host = "beta";
    ASSERT_TRUE(
        must(store_->inventory().set_contents(digest_of(1), facts, {}, {delay(4, monday)})));
    const auto delays = must(everything().delays().of_bundle(digest_of(1)));
    ASSERT_THAT(delays, SizeIs(1));
    EXPECT_EQ(delays[0].delay.number, 4U);
    EXPECT_EQ(delays[0].host, "beta");
    EXPECT_THAT(must(everything().delays().of_bundle(digest_of(2))), SizeIs(1));
    ASSERT_TRUE(store_->inventory().remove(digest_of(1)).ok());
    EXPECT_FALSE(must(everything().bundles().find(digest_of(1))).has_value());
    EXPECT_TRUE(holds("(SELECT count(*) FROM delay) = 1"));
    EXPECT_THAT(must(everything().delays().of_bundle(digest_of(2))), SizeIs(1));
    EXPECT_FALSE(must(store_->inventory().set_contents(digest_of(1), facts, {}, {})));
}

TEST_F(BundleInventoryTest, OnlyDelaysAreOfferedAsChoices) {
    BundleDelay made = delay(1, monday);
    made.unit = "web.service";
    BundleDelay normal = normal_run(monday - hour);
    normal.user = "bob";
    normal.build = "ef56";
    normal.process = "other";
    normal.unit = "db.service";
    add_bundle(1, {made, normal});
    const Choices choices = must(everything().choices().of_event("open"));
    EXPECT_THAT(choices.hosts, ElementsAre("alpha"));
    EXPECT_THAT(choices.users, ElementsAre("ann"));
    EXPECT_THAT(choices.builds, ElementsAre("cd34"));
    EXPECT_THAT(choices.processes, ElementsAre("demo"));
    EXPECT_THAT(choices.units, ElementsAre("web.service"));
    EXPECT_EQ(choices.from_realtime_ns, monday);
}

TEST_F(BundleInventoryTest, ABundleThatIsThereAddsNoWork) {
    const BundleRow row = bundle_row(1);
    ASSERT_EQ(must(store_->inventory().add(row, {"parse", row.digest, 7})), AddOutcome::New);
    BundleRow again = row;
    again.bytes = 1;
    EXPECT_EQ(must(store_->inventory().add(again, {"parse", "other", 7})), AddOutcome::Already);
    EXPECT_EQ(must(everything().bundles().find(row.digest))->bytes, 100U);
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 1U);
    EXPECT_FALSE(must(store_->jobs().take_job({}, 6, std::chrono::hours(1))).has_value());
}

}  // namespace
}  // namespace lagtrap::server::bundle_inventory_test
