#include "daemon/events/timed_threads.hpp"

#include "bpf/event_monitor.h"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::timed_threads_test {
namespace {

class TimedThreadsTest : public BpfFixture {
  protected:
    TimedThreadsTest() {
        settings_.history.times = true;
        settings_.events.emplace_back();
    }
    static bpf_map_info info_of(int map) {
        bpf_map_info info{};
        __u32 bytes = sizeof(info);
        EXPECT_EQ(bpf_map_get_info_by_fd(map, &info, &bytes), 0);
        return info;
    }
    // Entries of both maps.
    std::pair<std::uint32_t, std::uint32_t> entries() {
        const auto threads = TimedThreads::create(settings_);
        EXPECT_TRUE(threads) << threads.error().message;
        const bpf_map_info sets = info_of(threads->sets_fd()), times = info_of(threads->times_fd());
        EXPECT_EQ(sets.value_size, sizeof(lagtrap_timed_set));
        EXPECT_EQ(times.value_size, sizeof(lagtrap_thread_times));
        EXPECT_NE(sets.map_flags & BPF_F_MMAPABLE, 0U);
        return {sets.max_entries, times.max_entries};
    }
    const std::pair<std::uint32_t, std::uint32_t> whole_{LAGTRAP_TIMED_SETS, LAGTRAP_TIMED_THREADS},
        small_{1, 1};
    settings::Settings settings_;
};

TEST_F(TimedThreadsTest, HaveRoomIfAnEventWantsThem) { EXPECT_EQ(entries(), whole_); }

TEST_F(TimedThreadsTest, AreSmallIfTheSettingsWantNone) {
    settings_.history.times = false;
    EXPECT_EQ(entries(), small_);
}

TEST_F(TimedThreadsTest, AreSmallIfNoEventWantsThem) {
    settings_.events[0].begin.kind = settings::MarkerKind::RunQueue;
    EXPECT_EQ(entries(), small_);
    settings_.events.emplace_back();
    EXPECT_EQ(entries(), whole_) << "any event";
}

}  // namespace
}  // namespace lagtrap::daemon::timed_threads_test
