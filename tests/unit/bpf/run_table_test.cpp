// The table of open runs: two buckets for each tag, and which run is evicted if both are full.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

constexpr std::uint64_t newcomer_key = 1;

// The inverse of lagtrap_mix().
constexpr std::uint64_t inverse_of(std::uint64_t odd) {
    std::uint64_t inverse = odd;  // right in three bits; each step doubles them
    for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
    return inverse;
}
constexpr std::uint64_t unmix(std::uint64_t value) {
    value ^= value >> 33;
    value *= inverse_of(0xc4ceb9fe1a85ec53ULL);
    value ^= value >> 33;
    value *= inverse_of(0xff51afd7ed558ccdULL);
    return value ^ value >> 33;
}

class OpenRunTable : public EventMonitor {
  protected:
    // Event 0 fills the table; event 1's run with the key `newcomer_key` finds it full.
    OpenRunTable() {
        for (const std::uint32_t event : {0, 1})
            add_event(event, LAGTRAP_EVENT_KEY_ARGUMENT).threshold_ns = 1'000'000;
    }
    static std::uint64_t tag_of(std::uint32_t event, std::uint64_t key) {
        return lagtrap_run_tag(key, 100, event, 0);
    }
    static std::uint64_t key_of(std::uint32_t event, std::uint64_t tag) {
        return unmix(tag) ^ lagtrap_mix(100ULL << 32 | event << 8);
    }
    // Keys of an event whose two buckets are both this one.
    static std::vector<std::uint64_t> keys_for(std::uint32_t event, std::uint64_t bucket,
                                               std::size_t count) {
        std::vector<std::uint64_t> keys;
        for (std::uint64_t number = 0; number < count; ++number)
            keys.push_back(key_of(event, bucket << 40 | number << 24 | bucket << 8 | 1));
        return keys;
    }
    // Returns the keys in the order of their begins, one each nanosecond.
    std::vector<std::uint64_t> fill_bucket(std::uint32_t event, std::uint32_t bucket) {
        const auto keys = keys_for(event, bucket, LAGTRAP_BUCKET_TAGS);
        for (const std::uint64_t key : keys) {
            begin(event, thread(101), {.key = key});
            pass(1);
        }
        return keys;
    }
    // Fills the buckets of a tag with runs of event 0.
    std::vector<std::uint64_t> fill_buckets_of(std::uint64_t tag) {
        const std::uint32_t one = lagtrap_first_bucket(tag, LAGTRAP_MIN_BUCKETS),
                            other = lagtrap_second_bucket(tag, LAGTRAP_MIN_BUCKETS);
        auto keys = fill_bucket(0, one);
        if (other == one) return keys;
        for (const std::uint64_t key : fill_bucket(0, other)) keys.push_back(key);
        return keys;
    }
    void end_all(std::uint32_t event, const std::vector<std::uint64_t>& keys) {
        for (const std::uint64_t key : keys) end(event, thread(101), {.key = key});
    }
    // A key that fill_bucket() does not use.
    const std::uint64_t one_more = keys_for(0, 500, LAGTRAP_BUCKET_TAGS + 1).back();
    const std::uint64_t newcomer = tag_of(1, newcomer_key);
    const std::uint32_t first = lagtrap_first_bucket(newcomer, LAGTRAP_MIN_BUCKETS),
                        second = lagtrap_second_bucket(newcomer, LAGTRAP_MIN_BUCKETS);
};

TEST_F(OpenRunTable, a_run_that_finds_its_first_bucket_full_lies_in_the_second) {
    ASSERT_NE(first, second);
    const auto keys = fill_bucket(0, first);
    begin(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(index_of(newcomer) / LAGTRAP_BUCKET_SLOTS, second);
    EXPECT_EQ(bucket(first).state, 1);
    end_all(0, keys);
    end(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(runs(1), 1);
    EXPECT_EQ(open_runs(), 0);
    EXPECT_EQ(spilled_runs(), 0);
}

TEST_F(OpenRunTable, the_newest_run_of_who_crowds_gives_way_to_another_event) {
    const auto keys = fill_buckets_of(newcomer);
    begin(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(counters(0).lost, 1);
    EXPECT_EQ(counters(1).lost, 0);
    EXPECT_EQ(index_of(tag_of(0, keys.back())), -1);
    end_all(0, keys);
    EXPECT_EQ(runs(0), keys.size() - 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    end(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(runs(1), 1);
    EXPECT_EQ(open_runs(), 0);
    EXPECT_EQ(spilled_runs(), 0);
}

TEST_F(OpenRunTable, who_has_most_of_the_places_crowds) {
    const std::uint32_t uids[2][LAGTRAP_BUCKET_TAGS] = {{1, 2, 1, 2, 1, 2, 2},
                                                        {2, 1, 2, 1, 2, 2, 1}};
    std::vector<std::uint64_t> keys, of_crowd;
    for (const int each : {0, 1}) {
        const auto some = keys_for(0, each == 0 ? first : second, LAGTRAP_BUCKET_TAGS);
        for (std::size_t i = 0; i < some.size(); ++i) {
            thread(101).uid = uids[each][i];
            begin(0, thread(101), {.key = some[i]});
            pass(1);
            keys.push_back(some[i]);
            if (uids[each][i] == 2) of_crowd.push_back(some[i]);
        }
    }
    thread(201).uid = 3;
    EXPECT_EQ(open_runs(), 2 * LAGTRAP_BUCKET_TAGS);
    begin(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(counters(0).lost, 1);
    for (const std::uint64_t key : keys)
        EXPECT_EQ(index_of(tag_of(0, key)) < 0, key == of_crowd.back());
    EXPECT_GE(index_of(newcomer), 0);
}

TEST_F(OpenRunTable, a_run_in_its_second_bucket_that_gives_way_is_forgotten_in_its_first) {
    ASSERT_NE(first, second);
    auto keys = fill_bucket(0, first);
    for (const std::uint64_t key : keys_for(0, second, LAGTRAP_BUCKET_TAGS - 1)) {
        begin(0, thread(101), {.key = key});
        pass(1);
        keys.push_back(key);
    }
    const std::uint64_t spilled = static_cast<std::uint64_t>(second) << 40 | 99ULL << 24 |
                                  static_cast<std::uint64_t>(first) << 8 | 1;
    keys.push_back(key_of(0, spilled));
    begin(0, thread(101), {.key = keys.back()});
    EXPECT_EQ(index_of(spilled) / LAGTRAP_BUCKET_SLOTS, second);
    EXPECT_EQ(spilled_runs(), 1U);
    pass(1);
    begin(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(index_of(spilled), -1);
    end_all(0, keys);
    end(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(runs(1), 1);
    EXPECT_EQ(open_runs(), 0);
    EXPECT_EQ(spilled_runs(), 0);
}

TEST_F(OpenRunTable, who_crowds_himself_loses_the_new_run_and_no_other) {
    const auto keys = fill_buckets_of(tag_of(0, one_more));
    begin(0, thread(101), {.key = one_more});
    EXPECT_EQ(counters(0).lost, 1);
    EXPECT_EQ(counters(0).expired, 0);
    end_all(0, keys);
    EXPECT_EQ(runs(0), keys.size());
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(OpenRunTable, of_runs_that_seem_to_have_no_end_the_oldest_gives_way_to_its_own_event) {
    pass(3'600'000'000'000);
    const auto keys = fill_buckets_of(tag_of(0, one_more));
    pass(LAGTRAP_STALE_NS + 1'000'000);
    begin(0, thread(101), {.key = one_more});
    EXPECT_EQ(counters(0).expired, 1);
    EXPECT_EQ(counters(0).lost, 0);
    EXPECT_EQ(index_of(tag_of(0, keys.front())), -1);
    EXPECT_GE(index_of(tag_of(0, one_more)), 0);
    end_all(0, keys);
    end(0, thread(101), {.key = one_more});
    EXPECT_EQ(open_runs(), 0);
    EXPECT_EQ(spilled_runs(), 0);
}

TEST_F(OpenRunTable, a_run_is_not_stale_before_its_time) {
    fill_buckets_of(tag_of(0, one_more));
    pass(LAGTRAP_STALE_NS - 1'000'000);
    begin(0, thread(101), {.key = one_more});
    EXPECT_EQ(counters(0).expired, 0);
    EXPECT_EQ(counters(0).lost, 1);
}

TEST_F(OpenRunTable, a_run_is_not_stale_before_many_thresholds_have_passed) {
    auto& config = kernel.at<lagtrap_event_config>(native_maps.event_configs, 0);
    config.threshold_ns = LAGTRAP_STALE_NS;
    fill_buckets_of(tag_of(0, one_more));
    pass((LAGTRAP_STALE_THRESHOLDS - 1) * LAGTRAP_STALE_NS);
    begin(0, thread(101), {.key = one_more});
    EXPECT_EQ(counters(0).expired, 0);
    pass(2 * LAGTRAP_STALE_NS);
    begin(0, thread(101), {.key = one_more});
    EXPECT_EQ(counters(0).expired, 1);
}

TEST_F(OpenRunTable, where_nobody_crowds_the_new_run_is_lost_and_no_other) {
    std::uint32_t uid = 1;
    for (const std::uint32_t each : {first, second})
        for (const std::uint64_t key : keys_for(0, each, LAGTRAP_BUCKET_TAGS)) {
            thread(101).uid = uid++;
            begin(0, thread(101), {.key = key});
        }
    begin(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(counters(1).lost, 1);
    EXPECT_EQ(counters(0).lost, 0);
    EXPECT_EQ(open_runs(), 2 * LAGTRAP_BUCKET_TAGS);
    end(1, thread(101), {.key = newcomer_key});
    EXPECT_EQ(unmatched(1, LAGTRAP_PLACE_END), 1);
}

TEST_F(OpenRunTable, a_wait_for_a_cpu_needs_a_place_too) {
    add_event(2);
    native_watch_run_queue(2);
    const std::uint64_t tag = lagtrap_run_tag(101, 0, 2, 0);
    const std::uint32_t one = lagtrap_first_bucket(tag, LAGTRAP_MIN_BUCKETS),
                        other = lagtrap_second_bucket(tag, LAGTRAP_MIN_BUCKETS);
    ASSERT_NE(one, other);
    const auto keys = fill_buckets_of(tag);
    native_queue_new(&thread(101));
    EXPECT_EQ(counters(0).lost, 1) << "who crowds gives way";
    EXPECT_EQ(counters(2).lost, 0);
    EXPECT_GE(index_of(tag), 0);
    native_queue_switch(false, &thread(201), &thread(101), interruptible);
    EXPECT_EQ(runs(2), 1);
    end_all(0, keys);
    EXPECT_EQ(open_runs(), 0);
    std::uint32_t uid = 1;
    for (const std::uint32_t each : {one, other})
        for (const std::uint64_t key : keys_for(0, each, LAGTRAP_BUCKET_TAGS)) {
            thread(101).uid = uid++;
            begin(0, thread(101), {.key = key});
        }
    native_queue_new(&thread(101));
    EXPECT_EQ(counters(2).lost, 1) << "nobody crowds";
    EXPECT_EQ(index_of(tag), -1);
}

TEST_F(OpenRunTable, a_run_that_another_cpu_is_still_filling_in_is_not_found) {
    ASSERT_GE(claim_slot(tag_of(0, 5)), 0);
    end(0, thread(101), {.key = 5});
    EXPECT_EQ(runs(0), 0);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
}

TEST_F(OpenRunTable, another_user_of_the_same_event_is_another_crowd) {
    fill_buckets_of(tag_of(0, one_more));
    thread(102).uid = 2000;
    begin(0, thread(102), {.key = one_more});
    EXPECT_GE(index_of(tag_of(0, one_more)), 0);
    EXPECT_EQ(counters(0).lost, 1);
}

TEST_F(OpenRunTable, a_tag_is_claimed_where_it_is_found) {
    const int index = claim_slot(newcomer);
    EXPECT_EQ(index_of(newcomer), index);
    EXPECT_FALSE(take_run(index, newcomer + 2));
    EXPECT_TRUE(take_run(index, newcomer));
    EXPECT_FALSE(take_run(index, newcomer));
    EXPECT_EQ(index_of(newcomer), -1);
    free_slot(index, newcomer);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(OpenRunTable, the_last_word_of_a_bucket_is_no_place_for_a_run) {
    bucket(first).state = 77;
    EXPECT_FALSE(take_run(first * LAGTRAP_BUCKET_SLOTS + LAGTRAP_BUCKET_TAGS, 77));
    free_slot(first * LAGTRAP_BUCKET_SLOTS + LAGTRAP_BUCKET_TAGS, newcomer);
    EXPECT_EQ(bucket(first).state, 77);
}

// Two buckets to choose from fill the table evenly.
TEST_F(OpenRunTable, two_thirds_of_it_are_filled_without_a_loss) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    constexpr std::uint64_t runs = LAGTRAP_MIN_BUCKETS * LAGTRAP_BUCKET_TAGS * 2 / 3;
    for (std::uint64_t key = 0; key < runs; ++key) begin(0, thread(101), {.key = key});
    EXPECT_EQ(open_runs(), runs);
    EXPECT_EQ(counters(0).lost + counters(0).expired, 0);
    for (std::uint64_t key = 0; key < runs; ++key) end(0, thread(101), {.key = key});
    EXPECT_EQ(this->runs(0), runs);
    EXPECT_EQ(open_runs() + spilled_runs(), 0);
}

}  // namespace lagtrap::native
