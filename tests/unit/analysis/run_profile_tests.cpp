#include <zstd.h>

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "analysis/run_profile.hpp"
#include "analysis/wait_chain.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::run_profile_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr auto at = [](std::uint64_t time) { return static_cast<std::int64_t>(time); };

std::uint64_t sum_of(const RunProfile& profile) {
    return std::accumulate(
        profile.entries.begin(), profile.entries.end(), std::uint64_t{0},
        [](std::uint64_t sum, const ProfileEntry& entry) { return sum + entry.time_ns; });
}

// "on CPU main;work"; chains as "blocked:lock (futex) main;lock -> holder on CPU hold".
std::string to_text(const RunProfile& profile, const ProfileEntry& entry) {
    std::string words;
    for (const ProfileLink& link : entry.links) {
        if (!words.empty()) words += " -> " + profile.texts[link.thread] + " ";
        words += to_text(link.kind);
        if (link.reason != 0) words += ":" + profile.texts[link.reason];
        std::string stack;
        for (const std::uint32_t frame : profile.stack_of(link.node)) {
            stack += (stack.empty() ? " " : ";") + profile.frames[frame].function;
        }
        words += stack;
    }
    return words;
}

std::map<std::string, std::uint64_t> times_of(const RunProfile& profile) {
    std::map<std::string, std::uint64_t> times;
    for (const ProfileEntry& entry : profile.entries)
        times[to_text(profile, entry)] += entry.time_ns;
    return times;
}

// The run works for 5 ms, waits 90 ms for a lock and works for 5 ms. The holder computes for 60 ms,
// writes to the disk for 20 ms, and computes again.
TraceBuilder lock_and_disk() {
    TraceBuilder builder(200 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "holder");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 11);
    builder.samples(20 * ms, 25 * ms, 0, 10, 10, {"main", "work"});
    builder.switched(25 * ms, 0, 10, 1, 0)
        .off_cpu(25 * ms, 10, 10, {"main", "lock", "k:futex_wait"});
    builder.samples(25 * ms, 85 * ms, 1, 10, 11, {"start_thread", "hold"});
    builder.switched(85 * ms, 1, 11, 2, 0)
        .off_cpu(85 * ms, 10, 11, {"start_thread", "save", "k:ext4_sync_file"});
    builder.waking(105 * ms, 0, 0, 11, true).switched(105 * ms, 1, 0, 0, 11);
    builder.samples(105 * ms, 115 * ms, 1, 10, 11, {"start_thread", "hold"});
    builder.waking(115 * ms, 1, 11, 10).switched(115 * ms, 0, 0, 0, 10);
    builder.samples(115 * ms, 120 * ms, 0, 10, 10, {"main", "work"});
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    return builder;
}

TEST(RunProfile, follows_a_lock_to_what_its_holder_did) {
    const TraceBuilder builder = lock_and_disk();
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const RunProfile profile = profile_of_delay(*recording, builder.system.delays[0]);
    const std::string wait = "blocked:lock (futex) main;lock;futex_wait -> holder ";
    EXPECT_THAT(
        times_of(profile),
        testing::UnorderedElementsAre(
            testing::Pair("on CPU main;work", 10 * ms),
            testing::Pair(wait + "on CPU start_thread;hold", 70 * ms),
            testing::Pair(wait + "blocked:disk start_thread;save;ext4_sync_file", 20 * ms)));
    EXPECT_EQ(sum_of(profile), profile.duration_ns);
    EXPECT_EQ(profile.duration_ns, 100 * ms);
    EXPECT_EQ(profile.event, "work");
    EXPECT_TRUE(profile.delay);
    EXPECT_EQ(profile.tid, 10);
    EXPECT_EQ(profile.waits_cut, 0);
    EXPECT_EQ(profile.entries.front().time_ns, 70 * ms);
}

// A waits for B, which waits for C: a chain of two further links.
TEST(RunProfile, follows_chains_of_waits) {
    TraceBuilder builder(200 * ms, 3);
    builder.thread(10, 10, "a")
        .thread(10, 11, "b")
        .thread(20, 20, "c")
        .process(20, "/usr/bin/other");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(1 * ms, 1, 0, 0, 11)
        .switched(1 * ms, 2, 0, 0, 20);
    builder.switched(20 * ms, 0, 10, 1, 0)
        .off_cpu(20 * ms, 10, 10, {"main", "ask_b", "k:futex_wait"});
    builder.switched(20 * ms, 1, 11, 1, 0)
        .off_cpu(20 * ms, 10, 11, {"ask_c", "k:unix_stream_read_generic"});
    builder.samples(20 * ms, 110 * ms, 2, 20, 20, {"answer"});
    builder.waking(110 * ms, 2, 20, 11).switched(110 * ms, 1, 0, 0, 11);
    builder.samples(110 * ms, 120 * ms, 1, 10, 11, {"reply"});
    builder.waking(120 * ms, 1, 11, 10).switched(120 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const RunProfile profile = profile_of_delay(*recording, builder.system.delays[0]);
    const std::string wait = "blocked:lock (futex) main;ask_b;futex_wait -> b ";
    EXPECT_THAT(
        times_of(profile),
        testing::UnorderedElementsAre(
            testing::Pair(
                wait + "blocked:local socket ask_c;unix_stream_read_generic -> c on CPU answer",
                90 * ms),
            testing::Pair(wait + "on CPU reply", 10 * ms)));
}

// Each thread waits for the next one; the last one computes.
TEST(RunProfile, a_chain_of_waits_has_a_limit) {
    constexpr std::uint32_t threads = wait_chain_depth + 4;
    TraceBuilder builder(200 * ms, threads);
    for (std::uint32_t i = 0; i < threads; ++i) {
        builder.thread(10, 10 + i, "thread").switched(1 * ms, i, 0, 0, 10 + i);
        if (i + 1 == threads) break;
        builder.switched(20 * ms, i, 10 + i, 1, 0)
            .off_cpu(20 * ms, 10, 10 + i, {"ask", "k:unix_stream_read_generic"});
    }
    builder.samples(20 * ms, 110 * ms, threads - 1, 10, 9 + threads, {"answer"});
    for (std::uint32_t i = threads - 1; i > 0; --i) {
        const std::uint64_t at_ns = 110 * ms + (threads - 1 - i) * ms / 10;
        builder.waking(at_ns, i, 10 + i, 9 + i).switched(at_ns, i - 1, 0, 0, 9 + i);
    }
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const RunProfile profile = profile_of_delay(*recording, builder.system.delays[0]);
    EXPECT_EQ(sum_of(profile), 100 * ms);
    std::size_t longest = 0;
    for (const ProfileEntry& entry : profile.entries)
        longest = std::max(longest, entry.links.size());
    EXPECT_EQ(longest, wait_chain_depth);
}

// However many threads had the lock briefly, there is one link, and the time counts for the real
// holder.
TEST(RunProfile, a_lock_that_goes_from_thread_to_thread_is_one_link) {
    constexpr std::uint32_t workers = 30;
    TraceBuilder builder(200 * ms, workers + 2);
    const TraceBuilder::Stack lock{"lock", "___pthread_mutex_lock", "k:futex_wait"};
    builder.thread(10, 10, "a")
        .thread(10, 11, "holder")
        .switched(1 * ms, 0, 0, 0, 10)
        .switched(1 * ms, 1, 0, 0, 11);
    builder.samples(2 * ms, 110 * ms, 1, 10, 11, {"rebuild"});
    for (std::uint32_t i = 0; i < workers; ++i) {
        builder.thread(10, 20 + i, "worker").switched(1 * ms, 2 + i, 0, 0, 20 + i);
        builder.switched((2 + i) * ms / 2, 2 + i, 20 + i, 1, 0)
            .off_cpu((2 + i) * ms / 2, 10, 20 + i, lock, 77);
    }
    builder.switched(20 * ms, 0, 10, 1, 0).off_cpu(20 * ms, 10, 10, lock, 77);
    for (std::uint32_t i = 0; i < workers; ++i) {
        const std::uint64_t at_ns = 110 * ms + i * ms / 3;
        builder.waking(at_ns, 1, i == 0 ? 11 : 19 + i, 20 + i).switched(at_ns, 2 + i, 0, 0, 20 + i);
    }
    builder.waking(120 * ms, 0, 19 + workers, 10).switched(120 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const RunProfile profile = profile_of_delay(*recording, builder.system.delays[0]);
    EXPECT_EQ(sum_of(profile), 100 * ms);
    for (const ProfileEntry& entry : profile.entries) EXPECT_LE(entry.links.size(), 2);
    const std::string wait =
        "blocked:lock (futex) lock;___pthread_mutex_lock;futex_wait -> holder ";
    EXPECT_THAT(times_of(profile),
                testing::Contains(testing::Pair(wait + "on CPU rebuild", 90 * ms)));
}

// Two threads that wake each other: B waits for A, which waits for B, so the chain ends there.
TEST(RunProfile, does_not_run_in_circles) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "a").thread(10, 11, "b");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 11);
    builder.switched(30 * ms, 1, 11, 1, 0).off_cpu(30 * ms, 10, 11, {"b_waits", "k:futex_wait"});
    builder.switched(40 * ms, 0, 10, 1, 0).off_cpu(40 * ms, 10, 10, {"a_waits", "k:futex_wait"});
    // A damaged order: A wakes B although A is asleep.
    builder.waking(60 * ms, 0, 10, 11).switched(60 * ms, 1, 0, 0, 11);
    builder.waking(80 * ms, 1, 11, 10).switched(80 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(40 * ms), 40 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const RunProfile profile = profile_of_delay(*recording, builder.system.delays[0]);
    const std::string wait = "blocked:lock (futex) a_waits;futex_wait -> b ";
    EXPECT_THAT(times_of(profile),
                testing::UnorderedElementsAre(
                    testing::Pair(wait + "blocked:lock (futex) b_waits;futex_wait", 20 * ms),
                    testing::Pair(wait + "on CPU", 20 * ms)));
}

TEST(RunProfile, does_not_follow_timers_and_devices) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "app").thread(20, 20, "bystander").process(20, "/bin/bystander");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(1 * ms, 1, 0, 0, 20);
    builder.switched(20 * ms, 0, 10, 1, 0)
        .off_cpu(20 * ms, 10, 10, {"main", "k:hrtimer_nanosleep"});
    builder.waking(60 * ms, 1, 20, 10).switched(60 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 40 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_THAT(
        times_of(profile_of_delay(*recording, builder.system.delays[0])),
        testing::ElementsAre(testing::Pair("blocked:sleep main;hrtimer_nanosleep", 40 * ms)));
}

TEST(RunProfile, puts_waiting_for_a_cpu_where_the_thread_stood) {
    TraceBuilder builder(200 * ms, 1);
    builder.thread(10, 10, "app").thread(20, 20, "other").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(20 * ms, 40 * ms, 0, 10, 10, {"main", "first"});
    builder.switched(40 * ms, 0, 10, 0, 20).switched(90 * ms, 0, 20, 0, 10);
    builder.samples(92 * ms, 120 * ms, 0, 10, 10, {"main", "second"});
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto times = times_of(profile_of_delay(*recording, builder.system.delays[0]));
    EXPECT_EQ(times.at("runnable main;first"), 50 * ms);
    EXPECT_EQ(times.at("on CPU main;first") + times.at("on CPU main;second"), 50 * ms);
}

TEST(RunProfile, shows_what_is_not_known) {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(1 * ms, 30 * ms, 0, 10, 10, {"main"});
    builder.run(TraceBuilder::delay(1, "work", -at(20 * ms), 50 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const RunProfile profile = profile_of_delay(*recording, builder.system.delays[0]);
    EXPECT_EQ(times_of(profile).at("unknown:outside the recording"), 20 * ms);
    EXPECT_EQ(sum_of(profile), 50 * ms);
}

TEST(RunProfile, normal_runs_are_those_within_the_recording) {
    TraceBuilder builder(1000 * ms);
    builder.thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(20 * ms, 900 * ms, 0, 10, 10, {"main", "quick"});
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    for (std::uint64_t i = 0; i < 10; ++i) {
        builder.run(
            TraceBuilder::delay(2 + i, "work", at((200 + 20 * i) * ms), 5 * ms, 10 * ms, 10, 10),
            false);
    }
    builder.run(TraceBuilder::delay(20, "other", at(500 * ms), 5 * ms, 10 * ms, 10, 10), false);
    builder.run(TraceBuilder::delay(21, "work", at(999 * ms), 5 * ms, 10 * ms, 10, 10), false);
    builder.run(TraceBuilder::delay(22, "work", -at(3 * ms), 5 * ms, 10 * ms, 10, 10), false);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    std::uint64_t left_out = 0;
    const auto profiles = profiles_of_normal_runs(*recording, "work", 4, &left_out);
    ASSERT_EQ(profiles.size(), 4);
    EXPECT_EQ(left_out, 6);
    EXPECT_FALSE(profiles[0].delay);
    EXPECT_EQ(profiles[0].run_id, 2);
    EXPECT_EQ(profiles[3].run_id, 9);
    EXPECT_THAT(times_of(profiles[3]),
                testing::ElementsAre(testing::Pair("on CPU main;quick", 5 * ms)));
}

RunProfile made_profile(std::uint32_t entries, std::uint32_t seed = 1) {
    RunProfile profile;
    profile.event = "work";
    profile.delay = true;
    profile.texts.push_back("disk");
    for (std::uint32_t i = 0; i < entries; ++i) {
        seed = seed * 1664525 + 1013904223;
        profile.frames.push_back({"function_" + std::to_string(seed), "/usr/bin/app", i % 2 == 0});
        profile.nodes.push_back({i / 2, i});
        profile.entries.push_back(
            {entries - i, {{TimeKind::OnCpu, 0, 0, i + 1}, {TimeKind::Blocked, 1, 0, i / 3}}});
        profile.duration_ns += entries - i;
    }
    return profile;
}

TEST(RunProfileFile, gives_back_what_was_written) {
    const RunProfile profile = made_profile(100);
    const auto bytes = write_run_profile(profile);
    ASSERT_TRUE(bytes);
    const auto again = read_run_profile(*bytes);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, profile);
    EXPECT_EQ(*write_run_profile(*again), *bytes);
    EXPECT_LT(bytes->size(), 3000);
}

TEST(RunProfileFile, short_entries_lose_their_stacks_before_time_is_lost) {
    const RunProfile profile = made_profile(200'000);
    const auto bytes = write_run_profile(profile);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_LE(bytes->size(), run_profile_limit_bytes);
    const auto again = read_run_profile(*bytes);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(sum_of(*again), profile.duration_ns);
    EXPECT_LE(again->entries.size(), 16'384);
    EXPECT_GT(again->entries.size(), 1000);
    EXPECT_GT(again->waits_cut, 0);
    const ProfileEntry& longest = again->entries[1];
    EXPECT_EQ(longest.time_ns, 200'000);
    EXPECT_EQ(again->frames[again->stack_of(longest.links[0].node)[0]], profile.frames[0]);
}

// Whatever a byte becomes, reading gives a consistent profile or an error.
TEST(RunProfileFile, damage_is_found_or_does_no_harm) {
    const std::string bytes = *write_run_profile(made_profile(30));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_FALSE(read_run_profile(std::string_view(bytes).substr(0, i)));
        for (const int change : {1, 0x80, 0xff}) {
            std::string damaged = bytes;
            damaged[i] = static_cast<char>(damaged[i] ^ change);
            const auto profile = read_run_profile(damaged);
            if (!profile) continue;
            EXPECT_EQ(sum_of(*profile), profile->duration_ns);
            for (const ProfileEntry& entry : profile->entries) (void)to_text(*profile, entry);
        }
    }
}

TEST(RunProfileFile, says_what_is_wrong) {
    std::string bytes = *write_run_profile(made_profile(3));
    bytes[0] = 9;
    EXPECT_THAT(read_run_profile(bytes).error().message, testing::HasSubstr("version 9"));
    EXPECT_EQ(read_run_profile(bytes).error().kind, ErrorKind::Unsupported);
    RunProfile wrong = made_profile(3);
    wrong.duration_ns += 1;
    EXPECT_THAT(read_run_profile(*write_run_profile(wrong)).error().message,
                testing::HasSubstr("shorter than the run"));
    wrong.duration_ns -= 2;
    EXPECT_THAT(read_run_profile(*write_run_profile(wrong)).error().message,
                testing::HasSubstr("longer than the run"));
    wrong = made_profile(3);
    wrong.entries[0].links[0].node = 9;
    EXPECT_THAT(read_run_profile(*write_run_profile(wrong)).error().message,
                testing::HasSubstr("refers to missing data"));
    wrong = made_profile(3);
    wrong.nodes[2].frame = 9;
    EXPECT_THAT(read_run_profile(*write_run_profile(wrong)).error().message,
                testing::HasSubstr("unknown function"));
    EXPECT_EQ(read_run_profile(std::string(run_profile_limit_bytes + 1, '\1')).error().kind,
              ErrorKind::TooLarge);
}

TEST(RunProfileFile, keeps_every_field) {
    RunProfile profile;
    profile.event = "query";
    profile.process = "app";
    profile.run_id = 1ULL << 40;
    profile.begin_ns = 2ULL << 40;
    profile.duration_ns = 3ULL << 40;
    profile.threshold_ns = 4ULL << 40;
    profile.pid = 10;
    profile.tid = 11;
    profile.frames = {{"main", "/usr/bin/app", false}, {"schedule", "[kernel]", true}};
    profile.nodes = {{}, {0, 0}, {1, 1}, {1, 0}};
    profile.texts = {"", "disk", "worker"};
    profile.entries = {{3ULL << 40, {{TimeKind::Blocked, 1, 2, 2}, {TimeKind::Runnable, 0, 0, 3}}}};
    profile.waits_cut = 5;
    for (const bool delay : {false, true}) {
        profile.delay = delay;
        const auto again = read_run_profile(*write_run_profile(profile));
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(*again, profile);
        EXPECT_EQ(again->stack_of(2), (std::vector<std::uint32_t>{0, 1}));
    }
}

// Entries of one nanosecond, each of one link, from the first text and place.
RunProfile profile_of_links(std::size_t entries, std::size_t links = 1) {
    RunProfile profile;
    profile.duration_ns = entries;
    profile.entries.assign(entries,
                           {1, std::vector<ProfileLink>(links, {TimeKind::OnCpu, 0, 0, 0})});
    return profile;
}

TEST(RunProfileFile, entries_beyond_the_limit_are_put_together_by_kind_and_reason) {
    EXPECT_EQ(read_run_profile(*write_run_profile(profile_of_links(16'384)))->entries.size(),
              16'384U);
    RunProfile profile = profile_of_links(16'386);
    profile.texts = {"", "disk", "lock"};
    const std::size_t kept = 16'384 - 256;
    const auto link_at = [&](std::size_t index) -> ProfileLink& {
        return profile.entries[index].links[0];
    };
    for (std::size_t i = kept; i < profile.entries.size(); ++i)
        link_at(i) = {TimeKind::Blocked, i % 2 == 0 ? 1U : 2U, 0, 0};
    link_at(kept) = {TimeKind::Unknown, 1, 0, 0};
    profile.entries[kept + 1].links.resize(2);
    const auto again = read_run_profile(*write_run_profile(profile));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(sum_of(*again), profile.duration_ns);
    EXPECT_EQ(again->waits_cut, 1U);
    const auto rest = times_of(*again);
    EXPECT_EQ(rest.at("on CPU"), kept);
    EXPECT_EQ(rest.at("blocked:lock"), 129U);
    EXPECT_EQ(rest.at("blocked:disk"), 128U);
    EXPECT_EQ(rest.at("unknown:disk"), 1U);
    EXPECT_EQ(again->entries.size(), kept + 3);
    // Longest first.
    EXPECT_EQ(again->entries[0].time_ns, 129U);
    EXPECT_EQ(again->entries[1].time_ns, 128U);
    EXPECT_EQ(again->entries[2].time_ns, 1U);
}

TEST(RunProfileFile, links_have_a_limit) {
    EXPECT_TRUE(read_run_profile(*write_run_profile(profile_of_links(2, 64))));
    for (const std::size_t links : {0U, 65U}) {
        const auto read = read_run_profile(*write_run_profile(profile_of_links(2, links)));
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().message,
                  "the profile of a run has an entry of " + std::to_string(links) + " links");
        EXPECT_EQ(read.error().kind, ErrorKind::Invalid);
    }
}

TEST(RunProfileFile, long_texts_are_cut) {
    RunProfile profile;
    profile.event = std::string(4097, 'e');
    profile.process = std::string(4097, 'p');
    profile.frames = {{std::string(4097, 'f'), std::string(4097, 'm'), false}};
    profile.texts.emplace_back(4097, 't');
    const auto again = read_run_profile(*write_run_profile(profile));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->event, std::string(4096, 'e'));
    EXPECT_EQ(again->process, std::string(4096, 'p'));
    EXPECT_EQ(again->frames[0].function, std::string(4096, 'f'));
    EXPECT_EQ(again->frames[0].module, std::string(4096, 'm'));
    EXPECT_EQ(again->texts[1], std::string(4096, 't'));
}

TEST(RunProfileFile, texts_are_made_printable) {
    RunProfile profile;
    profile.event = "a\x1b[2J";
    EXPECT_EQ(read_run_profile(*write_run_profile(profile))->event.find('\x1b'), std::string::npos);
}

TEST(RunProfileFile, too_many_names_do_not_fit) {
    RunProfile profile;
    profile.texts.assign(65'536, "x");
    EXPECT_TRUE(write_run_profile(profile));
    profile.texts.emplace_back("x");
    const auto written = write_run_profile(profile);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(written.error().message, "the profile of a run has too many names");
}

// A file with this message, which may not be one of ours.
std::string file_of(const std::string& message, bool with_size = true) {
    std::string bytes(1 + ZSTD_compressBound(message.size()), '\1');
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
    bytes.resize(1 + ZSTD_compress2(context, bytes.data() + 1, bytes.size() - 1, message.data(),
                                    message.size()));
    ZSTD_freeCCtx(context);
    return bytes;
}

std::string problem_of(const std::string& message) {
    const auto read = read_run_profile(file_of(message));
    return read ? "" : read.error().message;
}

// Field numbers of the file.
std::string message_of_nodes(const std::vector<std::uint32_t>& distances,
                             const std::vector<std::uint32_t>& frames,
                             const std::vector<std::uint64_t>& entries = {}) {
    std::string message;
    protozero::pbf_writer writer(message);
    protozero::pbf_writer(writer, 10).add_string(1, "main");
    writer.add_packed_uint32(11, distances.begin(), distances.end());
    writer.add_packed_uint32(12, frames.begin(), frames.end());
    writer.add_packed_uint64(14, entries.begin(), entries.end());
    return message;
}

TEST(RunProfileFile, what_another_program_wrote_is_checked) {
    EXPECT_EQ(problem_of(message_of_nodes({1, 2, 1}, {0, 0, 0})), "");
    EXPECT_EQ(problem_of(message_of_nodes({1}, {})),
              "the profile of a run has calls without a caller");
    for (const std::uint32_t distance : {0U, 2U})
        EXPECT_EQ(problem_of(message_of_nodes({distance}, {0})),
                  "the profile of a run has a call that precedes its caller");
    EXPECT_EQ(problem_of(message_of_nodes({1}, {1})),
              "the profile of a run has a call of an unknown function");
    EXPECT_EQ(problem_of(message_of_nodes({}, {}, {0})),
              "the profile of a run ends within an entry");
    EXPECT_EQ(problem_of(message_of_nodes({}, {}, {0, 1, 1, 0, 0})),
              "the profile of a run has an entry of 1 links");
    EXPECT_EQ(problem_of(message_of_nodes({1}, {0}, {0, 1, 3, 0, 0, 1})), "");
    for (const std::vector<std::uint64_t>& link :
         {std::vector<std::uint64_t>{4, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 2}}) {
        std::vector<std::uint64_t> entry{0, 1};
        entry.insert(entry.end(), link.begin(), link.end());
        EXPECT_EQ(problem_of(message_of_nodes({1}, {0}, entry)),
                  "the profile of a run refers to missing data");
    }
    EXPECT_THAT(problem_of("\x0a\x7f"), testing::StartsWith("the profile of a run is damaged: "));
}

TEST(RunProfileFile, what_another_program_wrote_has_limits) {
    std::vector<std::uint64_t> entries;
    for (std::size_t i = 0; i < 16'385; ++i) entries.insert(entries.end(), {0, 1, 1, 0, 0, 0});
    EXPECT_EQ(problem_of(message_of_nodes({}, {}, entries)),
              "the profile of a run has more than 16384 entries");
    entries.resize(entries.size() - 6);
    EXPECT_EQ(problem_of(message_of_nodes({}, {}, entries)), "");
    std::string texts;
    protozero::pbf_writer writer(texts);
    for (std::size_t i = 1; i < 65'536; ++i) writer.add_string(13, "");
    EXPECT_EQ(problem_of(texts), "");
    writer.add_string(13, "");
    EXPECT_EQ(problem_of(texts), "the profile of a run has too many names or calls");
    const std::vector<std::uint32_t> nodes((1 << 20) + 1, 1);
    EXPECT_EQ(problem_of(message_of_nodes(nodes, {})),
              "the profile of a run has too many names or calls");
}

TEST(RunProfileFile, only_whole_files_are_unpacked) {
    EXPECT_EQ(read_run_profile("").error().message, "the profile of a run is empty");
    for (const std::string& bytes : {std::string("\1"), std::string("\1not a frame"),
                                     file_of(message_of_nodes({}, {}), false)})
        EXPECT_EQ(read_run_profile(bytes).error().message,
                  "the profile of a run is not a zstd frame with a known size");
    const auto large = read_run_profile(file_of(std::string((16 << 20) + 1, '\0')));
    EXPECT_EQ(large.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(large.error().message,
              "the profile of a run unpacks to 16777217 bytes; at most 16777216 are allowed");
    EXPECT_EQ(read_run_profile(std::string(run_profile_limit_bytes + 1, '\1')).error().message,
              "the profile of a run has 1048577 bytes; at most 1048576 are allowed");
    EXPECT_EQ(read_run_profile(std::string(run_profile_limit_bytes, '\1')).error().kind,
              ErrorKind::Invalid);
}

}  // namespace
}  // namespace lagtrap::analysis::run_profile_tests
