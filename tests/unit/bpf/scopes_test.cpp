// Which processes' hits an event accepts.
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class Scopes : public EventMonitor {
  protected:
    std::uint64_t runs_of(std::uint32_t tid) {
        const std::uint64_t before = runs(0);
        begin(0, thread(tid));
        end(0, thread(tid));
        return runs(0) - before;
    }
};

TEST_F(Scopes, a_process_is_in_its_own_scope_alone) {
    add_event(0, LAGTRAP_EVENT_SCOPE_PID).scope_pid = 100;
    EXPECT_EQ(runs_of(101), 1);
    EXPECT_EQ(runs_of(201), 0);
    EXPECT_EQ(counters(0).out_of_scope, 2);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
}

TEST_F(Scopes, a_process_may_include_what_it_has_started) {
    lagtrap_event_config& config =
        add_event(0, LAGTRAP_EVENT_SCOPE_PID | LAGTRAP_EVENT_SCOPE_DESCENDANTS);
    config.scope_pid = 100;
    const std::uint32_t child[] = {100, 1}, grandchild[] = {150, 100}, other[] = {300, 1};
    const auto started_by = [&](const std::uint32_t(&ancestors)[2]) {
        std::copy(std::begin(ancestors), std::end(ancestors), thread(201).ancestors);
        return runs_of(201);
    };
    EXPECT_EQ(runs_of(101), 1);
    EXPECT_EQ(started_by(child), 1);
    EXPECT_EQ(started_by(grandchild), 1);
    EXPECT_EQ(started_by(other), 0);
    config.flags &= ~LAGTRAP_EVENT_SCOPE_DESCENDANTS;
    EXPECT_EQ(started_by(child), 0);
}

TEST_F(Scopes, a_user_is_in_his_own_scope_alone) {
    add_event(0, LAGTRAP_EVENT_SCOPE_UID).scope_uid = 1000;
    thread(201).uid = 2000;
    EXPECT_EQ(runs_of(101), 1);
    EXPECT_EQ(runs_of(201), 0);
}

TEST_F(Scopes, a_control_group_is_in_scope_for_the_event_that_names_it) {
    add_event(0, LAGTRAP_EVENT_SCOPE_GROUP);
    const lagtrap_scoped_group ours{77, 0, 0}, of_another_event{78, 1, 0};
    const std::uint8_t any = 1;
    ASSERT_EQ(native_update(native_maps.scoped_groups, &ours, &any), 0);
    ASSERT_EQ(native_update(native_maps.scoped_groups, &of_another_event, &any), 0);
    kernel.cgroup = 77;
    EXPECT_EQ(runs_of(101), 1);
    kernel.cgroup = 78;
    EXPECT_EQ(runs_of(101), 0);
    add_event(1, LAGTRAP_EVENT_SCOPE_GROUP);
    begin(1, thread(101));
    EXPECT_EQ(open_runs(), 1);
    EXPECT_EQ(counters(1).out_of_scope, 0);
}

TEST_F(Scopes, a_program_is_its_file_on_its_device) {
    lagtrap_event_config& config = add_event(0, LAGTRAP_EVENT_SCOPE_PROGRAM);
    config.scope_inode = 12;
    config.scope_device = 3;
    thread(101).program_inode = thread(201).program_inode = 12;
    thread(101).program_device = thread(301).program_device = 3;
    thread(301).program_inode = 13;
    EXPECT_EQ(runs_of(101), 1);
    EXPECT_EQ(runs_of(201), 0);
    EXPECT_EQ(runs_of(301), 0);
    EXPECT_EQ(counters(0).out_of_scope, 4);
}

TEST_F(Scopes, hits_of_a_limited_process_do_nothing_but_count) {
    add_event(0, LAGTRAP_EVENT_LIMITED);
    const lagtrap_hitter party{0, 1000, 100};
    const std::uint32_t any = 1;
    ASSERT_EQ(native_update(native_maps.limited_parties, &party, &any), 0);
    EXPECT_EQ(runs_of(101), 0);
    EXPECT_EQ(counters(0).limited, 2);
    EXPECT_EQ(runs_of(201), 1);
    // A whole party.
    const lagtrap_hitter all{0, 1000, 0};
    ASSERT_EQ(native_update(native_maps.limited_parties, &all, &any), 0);
    EXPECT_EQ(runs_of(201), 0);
    thread(301).uid = 2000;
    EXPECT_EQ(runs_of(301), 1);
    EXPECT_EQ(counters(0).limited, 4);
}

TEST_F(Scopes, an_event_that_is_off_counts_begins_where_it_should) {
    add_event(0, LAGTRAP_EVENT_OFF);
    EXPECT_EQ(runs_of(101), 0);
    EXPECT_EQ(counters(0).counted, 0);
    add_event(0, LAGTRAP_EVENT_OFF | LAGTRAP_EVENT_COUNTED);
    EXPECT_EQ(runs_of(101), 0);
    EXPECT_EQ(counters(0).counted, 1);
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_END].hits, 2);
    EXPECT_EQ(open_runs(), 0);
}

}  // namespace lagtrap::native
