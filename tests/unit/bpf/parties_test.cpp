// Parties: the numbers by which the event monitor's programs tell users apart.
#include <utility>
#include <vector>

#include "bpf/party.h"
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

constexpr std::uint32_t a_namespace = LAGTRAP_PARTY_FIRST_NAMESPACE + 7;

class Parties : public EventMonitor {
  protected:
    // The party recorded in a thread's run.
    std::uint32_t party_of(const native_thread& thread) {
        begin(0, thread);
        return slot_of(lagtrap_run_tag(thread.tid, 0, 0, 0))->run.begin_party;
    }
    std::vector<std::uint32_t> seen() {
        const lagtrap_seen_parties& all = counters(0).seen;
        std::vector<std::uint32_t> parties;
        for (const std::uint32_t mark : all.parties)
            if (mark != 0) parties.push_back(mark - 1);
        return parties;
    }
    void SetUp() override { add_event(0); }
};

TEST_F(Parties, a_user_of_the_machine_is_its_number) {
    EXPECT_EQ(party_of(thread(101)), 1000);
    thread(201).uid = 0;
    EXPECT_EQ(party_of(thread(201)), 0);
}

TEST_F(Parties, subordinate_users_are_the_owner_of_their_namespace) {
    thread(101).uid = 100000;
    thread(101).user_namespace = a_namespace;
    thread(101).namespace_owner = 1000;
    EXPECT_EQ(party_of(thread(101)), 1000);
    native_thread& inner = thread(201);
    inner.uid = 165535;
    inner.user_namespace = a_namespace;
    inner.namespace_owner = 1000;
    inner.nested = true;
    inner.pid_namespace = a_namespace + 2;
    EXPECT_EQ(party_of(inner), 1000) << "however many namespaces they make inside";
}

TEST_F(Parties, root_of_a_namespace_that_root_made_is_not_the_machines) {
    thread(101).uid = 0;
    thread(101).user_namespace = a_namespace;
    EXPECT_EQ(party_of(thread(101)), a_namespace);
}

TEST_F(Parties, all_users_of_a_container_without_users_of_its_own_are_that_container) {
    for (const std::uint32_t uid : {0, 1000, 2000}) {
        native_thread& one = thread(101 + uid * 100);
        one.uid = uid;
        one.pid_namespace = a_namespace;
        one.machines_pid_namespace = true;
        EXPECT_EQ(party_of(one), a_namespace);
    }
    native_thread& inner = thread(999001);
    inner.pid_namespace = a_namespace;
    inner.machines_pid_namespace = true;
    inner.user_namespace = a_namespace + 1;
    inner.namespace_owner = 1000;
    EXPECT_EQ(party_of(inner), a_namespace)
        << "though it became another user there and made a namespace";
}

TEST_F(Parties, no_user_has_the_number_of_a_namespace) {
    thread(101).uid = a_namespace;
    EXPECT_EQ(party_of(thread(101)), LAGTRAP_PARTY_UNKNOWN);
}

TEST_F(Parties, users_whose_numbers_differ_by_64_are_two) {
    begin(0, thread(101));
    thread(201).uid = 1064;
    begin(0, thread(201));
    begin(0, thread(201));
    EXPECT_EQ(seen(), (std::vector<std::uint32_t>{1000, 1064}));
    EXPECT_EQ(counters(0).seen.more, 0);
}

TEST_F(Parties, beyond_the_room_it_is_known_that_there_are_more) {
    for (std::uint32_t i = 0; i <= LAGTRAP_SEEN_PARTIES; ++i) {
        EXPECT_EQ(counters(0).seen.more, 0);
        thread(101 + i * 100).uid = 2000 + i;
        begin(0, thread(101 + i * 100));
    }
    EXPECT_EQ(seen().size(), LAGTRAP_SEEN_PARTIES);
    EXPECT_EQ(counters(0).seen.more, 1);
}

TEST_F(Parties, hits_that_are_paired_and_those_out_of_scope_are_sampled_apart) {
    add_event(0, LAGTRAP_EVENT_SCOPE_PID).scope_pid = 100;
    thread(201).uid = 2000;
    for (int i = 0; i < 2 * LAGTRAP_COST_EVERY; ++i) begin(0, thread(101));
    for (int i = 0; i < 3 * LAGTRAP_COST_EVERY; ++i) begin(0, thread(201));
    using Pair = std::pair<std::uint64_t, std::uint64_t>;
    const auto hits_of = [&](const void* map, const lagtrap_hitter& who) {
        const auto* hits = static_cast<const lagtrap_hits*>(kernel.lookup(kernel.map(map), &who));
        return hits ? Pair(hits->paired, hits->passed) : Pair();
    };
    EXPECT_EQ(hits_of(native_maps.hits_by_party, {0, 1000, 0}), Pair(2, 0));
    EXPECT_EQ(hits_of(native_maps.hits_by_party, {0, 2000, 0}), Pair(0, 3));
    EXPECT_EQ(hits_of(native_maps.hits_by_process, {0, 1000, 100}), Pair(2, 0));
    EXPECT_EQ(hits_of(native_maps.hits_by_process, {0, 2000, 200}), Pair(0, 3));
}

TEST_F(Parties, a_limit_of_one_holds_no_other_of_the_same_uid) {
    kernel.at<lagtrap_event_config>(native_maps.event_configs, 0).flags |= LAGTRAP_EVENT_LIMITED;
    const lagtrap_hitter limited{0, 1000, 0};
    const std::uint32_t yes = 1;
    ASSERT_EQ(native_update(native_maps.limited_parties, &limited, &yes), 0);
    thread(201).pid_namespace = a_namespace;
    thread(201).machines_pid_namespace = true;
    begin(0, thread(101));
    begin(0, thread(201));
    EXPECT_EQ(counters(0).limited, 1);
    EXPECT_EQ(seen(), std::vector<std::uint32_t>{a_namespace});
}

TEST_F(Parties, a_limit_of_one_process_holds_no_other_of_the_same_user) {
    kernel.at<lagtrap_event_config>(native_maps.event_configs, 0).flags |= LAGTRAP_EVENT_LIMITED;
    const lagtrap_hitter limited{0, 1000, 100};
    const std::uint32_t yes = 1;
    ASSERT_EQ(native_update(native_maps.limited_parties, &limited, &yes), 0);
    thread(201).uid = 1000;
    begin(0, thread(201));
    EXPECT_EQ(counters(0).limited, 0);
    begin(0, thread(101));
    EXPECT_EQ(counters(0).limited, 1);
}

}  // namespace lagtrap::native
