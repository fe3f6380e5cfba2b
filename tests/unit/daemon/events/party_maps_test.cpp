#include "daemon/events/party_maps.hpp"

#include <gmock/gmock.h>

#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::party_maps_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PartyMapsTest : public BpfFixture {
  protected:
    static UniqueFd hits_map() {
        return map_of(BPF_MAP_TYPE_HASH, sizeof(lagtrap_hitter), sizeof(lagtrap_hits), 16);
    }
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        parties_ = hits_map();
        processes_ = hits_map();
        limited_ = map_of(BPF_MAP_TYPE_HASH, sizeof(lagtrap_hitter), sizeof(std::uint32_t), 2);
        without_ = map_of(BPF_MAP_TYPE_HASH, sizeof(Party), sizeof(std::uint32_t), 16);
        maps_.emplace(PartyMaps::Descriptors{parties_.get(), processes_.get(), limited_.get(),
                                             without_.get()});
    }
    static void put(const UniqueFd& map, const lagtrap_hitter& who, std::uint64_t paired,
                    std::uint64_t passed) {
        const lagtrap_hits hits{paired, passed};
        EXPECT_EQ(bpf_map_update_elem(map.get(), &who, &hits, BPF_ANY), 0);
    }
    [[nodiscard]] bool is_limited(const lagtrap_hitter& who) const {
        std::uint32_t yes = 0;
        return bpf_map_lookup_elem(limited_.get(), &who, &yes) == 0;
    }
    [[nodiscard]] std::set<Party> without() const {
        std::set<Party> found;
        for (const Party party : {1U, 2U, 3U}) {
            std::uint32_t yes = 0;
            if (bpf_map_lookup_elem(without_.get(), &party, &yes) == 0) found.insert(party);
        }
        return found;
    }

    UniqueFd parties_, processes_, limited_, without_;
    std::optional<PartyMaps> maps_;
};

TEST_F(PartyMapsTest, HitsAreTakenOnceByEvent) {
    put(parties_, {1, 1000, 0}, 10, 20);
    put(processes_, {1, 1000, 7}, 11, 21);
    put(processes_, {2, 1001, 8}, 12, 22);
    const auto taken = maps_->take();
    ASSERT_EQ(taken.size(), 2U);
    const HitParties& first = taken.at(1);
    ASSERT_EQ(first.users.size(), 1U);
    EXPECT_EQ(first.users[0].who, (HitParty{1000, 0}));
    EXPECT_EQ(first.users[0].paired, 10U);
    EXPECT_EQ(first.users[0].passed, 20U);
    ASSERT_EQ(first.processes.size(), 1U);
    EXPECT_EQ(first.processes[0].who, (HitParty{1000, 7}));
    EXPECT_EQ(first.processes[0].paired, 11U);
    EXPECT_THAT(taken.at(2).users, IsEmpty());
    EXPECT_EQ(taken.at(2).processes.at(0).who, (HitParty{1001, 8}));
    EXPECT_THAT(maps_->take(), IsEmpty());
}

TEST_F(PartyMapsTest, APartyIsLimitedForOneEvent) {
    EXPECT_FALSE(maps_->limits(1));
    ASSERT_TRUE(maps_->limit(1, {1000, 7}, true));
    EXPECT_TRUE(is_limited({1, 1000, 7}));
    EXPECT_TRUE(maps_->limits(1));
    EXPECT_FALSE(maps_->limits(2));
    ASSERT_TRUE(maps_->limit(1, {1000, 7}, false));
    EXPECT_FALSE(is_limited({1, 1000, 7}));
    EXPECT_FALSE(maps_->limits(1));
    EXPECT_TRUE(maps_->limit(1, {1000, 7}, false)) << "it is not limited, as wanted";
}

TEST_F(PartyMapsTest, TooManyAreAnError) {
    ASSERT_TRUE(maps_->limit(1, {1000, 0}, true));
    ASSERT_TRUE(maps_->limit(2, {1000, 0}, true));
    EXPECT_FALSE(maps_->limit(3, {1000, 0}, true));
}

TEST_F(PartyMapsTest, AllPartiesOfAnEventAreReleased) {
    ASSERT_TRUE(maps_->limit(1, {1000, 0}, true));
    ASSERT_TRUE(maps_->limit(2, {1000, 0}, true));
    maps_->release_all(1);
    EXPECT_FALSE(maps_->limits(1));
    EXPECT_TRUE(maps_->limits(2));
}

TEST_F(PartyMapsTest, PartiesWithoutRecordingsAreReplaced) {
    maps_->set_without_recordings({1, 2});
    EXPECT_THAT(without(), ElementsAre(1, 2));
    maps_->set_without_recordings({2, 3});
    EXPECT_THAT(without(), ElementsAre(2, 3));
    maps_->set_without_recordings({});
    EXPECT_THAT(without(), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::daemon::party_maps_test
