// Markers come and go in a library that this process calls, on this kernel.
#include "daemon/events/event_arming.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "daemon/processes/record_buffer.hpp"
#include "tests/unit/daemon/watched_library_fixture.hpp"

namespace lagtrap::daemon::event_arming_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class AnEventArming : public WatchedLibrary {
  protected:
    void watch_copies() {
        (void)mapped_.want({"*/libmarked*.so"});
        options_.mapped_files = &mapped_;
        options_.inspector = &files_;
        options_.names = &names_;
        watch({query_in("*/libmarked*.so")});
    }
    // This process is said to map the file.
    void map(const std::string& path) {
        lagtrap_mapping mapping{};
        mapping.header.type = LAGTRAP_RECORD_MAPPING;
        mapping.pid = static_cast<std::uint32_t>(::getpid());
        mapping.inode = ++last_inode_;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        RecordBuffer records;
        records.append(&mapping, sizeof(mapping), path);
        records.for_each([this](const lagtrap_record* record) { mapped_.take(record); });
        mapped_.done();
    }

    std::uint64_t last_inode_ = 0;
};

TEST_F(AnEventArming, DisablesAnEventAndEnablesItAgain) {
    watch({query_in(path_), query_in(path_)});
    const LoadedLibrary library(path_);
    library.call("marked_begin");
    monitor_->disable(0, "too expensive", false);
    EventStatus status = this->status();
    EXPECT_TRUE(status.disabled);
    EXPECT_FALSE(status.counted);
    EXPECT_FALSE(status.armed);
    EXPECT_FALSE(status.arming);
    EXPECT_EQ(status.problem, "too expensive");
    const std::uint64_t begins = status.counters.begins().hits;
    library.call("marked_end");
    EXPECT_EQ(this->status().counters.runs(), 0U) << "its ends have no effect from now on";
    EXPECT_TRUE(this->status(1).armed) << "the other one is watched";
    EXPECT_EQ(this->status(1).counters.runs(), 1U);
    monitor_->enable(0, true);
    await_told("armed 0");
    status = this->status();
    EXPECT_TRUE(status.armed);
    EXPECT_FALSE(status.disabled);
    EXPECT_EQ(status.problem, "");
    EXPECT_EQ(status.open.open, 0U) << "the open run was dropped";
    EXPECT_EQ(status.counters.abandoned, 1U);
    EXPECT_THAT(told(), ElementsAre("armed 0"));
    library.call_all({"marked_begin", "marked_end"});
    status = this->status();
    EXPECT_EQ(status.counters.begins().hits, begins + 1);
    EXPECT_EQ(status.counters.runs(), 1U);
    monitor_->disable(0, "again", false);
    monitor_->enable(0, false);
    await("its markers", [this] { return this->status().armed; });
    monitor_->detach();
    EXPECT_THAT(told(), ElementsAre("armed 0")) << "nobody wants to know";
}

TEST_F(AnEventArming, CountsOnlyTheBeginsOfAnEventThatWasDisabledInPart) {
    watch({query_in(path_)});
    const LoadedLibrary library(path_);
    library.call("marked_begin");
    monitor_->disable(0, "too many runs", true);
    EventStatus status = this->status();
    EXPECT_TRUE(status.disabled);
    EXPECT_TRUE(status.counted);
    EXPECT_FALSE(status.armed);
    EXPECT_EQ(status.problem, "too many runs");
    library.call_all({"marked_begin", "marked_stage", "marked_end", "marked_begin"});
    await("the open run to be dropped", [this] { return this->status().open.open == 0; });
    status = this->status();
    EXPECT_EQ(status.counters.counted, 2U);
    EXPECT_EQ(status.counters.runs(), 0U);
    monitor_->enable(0, true);
    await_told("armed 0");
    status = this->status();
    EXPECT_TRUE(status.armed);
    EXPECT_FALSE(status.counted);
    const std::uint64_t ends = status.counters.ends().hits;
    const std::uint64_t stages = status.counters.markers[LAGTRAP_PLACE_STAGE].hits;
    library.call_all({"marked_begin", "marked_stage", "marked_end"});
    status = this->status();
    EXPECT_EQ(status.counters.runs(), 1U);
    EXPECT_EQ(status.counters.ends().hits, ends + 1);
    EXPECT_EQ(status.counters.markers[LAGTRAP_PLACE_STAGE].hits, stages + 1);
    EXPECT_EQ(status.counters.counted, 2U);
}

TEST_F(AnEventArming, WatchesStagesOrNot) {
    watch({query_in(path_)});
    const LoadedLibrary library(path_);
    const auto stage_hits = [this] { return status().counters.markers[LAGTRAP_PLACE_STAGE].hits; };
    library.call_all({"marked_begin", "marked_stage"});
    ASSERT_TRUE(monitor_->watch_stages(0, false));
    EXPECT_TRUE(status().stages_disabled);
    EXPECT_TRUE(status().armed);
    await("the stage's marker to be detached", [&] {
        const std::uint64_t before = stage_hits();
        library.call("marked_stage");
        return stage_hits() == before;
    });
    EXPECT_EQ(status().counters.unmatched_stages(), 0U);
    library.call("marked_end");
    EXPECT_EQ(status().counters.runs(), 1U);
    monitor_->disable(0, "too expensive", false);
    monitor_->enable(0, true);
    await_told("armed 0");
    const std::uint64_t hits = stage_hits();
    library.call_all({"marked_begin", "marked_stage", "marked_end"});
    EXPECT_EQ(stage_hits(), hits) << "it is still not watched";
    EXPECT_EQ(status().counters.runs(), 2U);
    ASSERT_TRUE(monitor_->watch_stages(0, true));
    EXPECT_FALSE(status().stages_disabled);
    await("the stage's marker", [&] {
        library.call("marked_stage");
        return stage_hits() > hits;
    });
}

TEST_F(AnEventArming, FollowsAFileThatIsReplaced) {
    watch({query_in(path_)});
    std::optional<LoadedLibrary> library(std::in_place, path_);
    library->call_all({"marked_begin", "marked_end"});
    library.reset();
    monitor_->look_at_files();
    fs::copy(marked(), folder_ / "new");
    fs::rename(folder_ / "new", path_);
    monitor_->look_at_files();
    await_told("armed 0");
    EXPECT_THAT(told(), ElementsAre("replaced " + path_, "armed 0"));
    EXPECT_TRUE(status().armed);
    library.emplace(path_);
    library->call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 2U);
    ASSERT_THAT(monitor_->watched_files(), SizeIs(1));
    EXPECT_EQ(monitor_->watched_files()[0].rearmed, 1U);
}

TEST_F(AnEventArming, LeavesFilesThatAreWritten) {
    const std::string other = folder_ / "other.so";
    fs::copy(marked(), other);
    const std::string late = folder_ / "late.so";
    {
        const std::ofstream writer(other, std::ios::app);
        watch({query_in(other), query_in(late), query_in(path_)});
        EXPECT_EQ(status(0).problem, other + " is being written; it will be watched afterwards");
        EXPECT_FALSE(status(0).armed);
        EXPECT_FALSE(status(0).arming);
        EXPECT_THAT(status(1).problem, HasSubstr(late));
        EXPECT_TRUE(status(2).armed);
    }
    fs::copy(marked(), late);
    monitor_->look_at_files();
    await_told("armed 0");
    await_told("armed 1");
    EXPECT_TRUE(status(0).armed);
    EXPECT_TRUE(status(1).armed);
    EXPECT_EQ(status(1).problem, "");
    const LoadedLibrary library(path_);
    library.call_all({"marked_begin", "marked_end"});
    library.call("marked_begin");
    {
        const std::ofstream writer(path_, std::ios::app);
        const EventStatus left = status(2);
        EXPECT_FALSE(left.armed);
        EXPECT_FALSE(left.disabled);
        EXPECT_EQ(left.problem, path_ + " is being written; it will be watched afterwards");
        EXPECT_EQ(left.open.open, 0U);
        EXPECT_EQ(left.counters.runs(), 1U);
        library.call("marked_begin");
        EXPECT_EQ(status(2).counters.begins().hits, left.counters.begins().hits);
        EXPECT_TRUE(status(0).armed);
    }
    monitor_->look_at_files();
    await_told("armed 2");
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status(2).counters.runs(), 2U);
    monitor_->disable(2, "too expensive", false);
    {
        const std::ofstream writer(path_, std::ios::app);
        EXPECT_EQ(status(2).problem, "too expensive");
    }
}

TEST_F(AnEventArming, ArmsAnEventLaterWhoseFileWasWrittenWhenItWasEnabled) {
    watch({query_in(path_)});
    monitor_->disable(0, "too expensive", false);
    const std::string problem = path_ + " is being written; it will be watched afterwards";
    {
        const std::ofstream writer(path_, std::ios::app);
        monitor_->enable(0, true);
        await_told("armed 0: " + problem);
        EXPECT_FALSE(status().disabled);
        EXPECT_EQ(status().problem, problem);
    }
    monitor_->look_at_files();
    await_told("armed 0");
    EXPECT_TRUE(status().armed);
}

TEST_F(AnEventArming, WatchesTheSchedulerForAllEventsTogether) {
    settings::Event wait;
    wait.name = "wait";
    wait.threshold = 1h;
    wait.begin.kind = wait.end.kind = settings::MarkerKind::RunQueue;
    wait.begin.name = "begins";
    wait.end.name = "ends";
    watch({wait, wait});
    const auto waits = [this](std::uint32_t event) { return status(event).counters.runs(); };
    await("waits for a CPU", [&] { return waits(0) > 0 && waits(1) > 0; });
    EXPECT_TRUE(status(0).armed);
    EXPECT_THAT(monitor_->hits().at(0).kinds,
                ElementsAre(ProbeKind::Scheduler, ProbeKind::Scheduler));
    EXPECT_THAT(monitor_->program_fds(), SizeIs(3)) << "only those for waits are loaded";
    monitor_->disable(0, "too expensive", false);
    const std::uint64_t before = waits(1);
    await("waits of the other event", [&] { return waits(1) > before; });
    const std::uint64_t disabled = waits(0);
    monitor_->enable(0, true);
    await_told("armed 0");
    await("waits of the first event", [&] { return waits(0) > disabled; });
}

TEST_F(AnEventArming, SharesATracepointAmongEvents) {
    settings::Event forks;
    forks.name = "forks";
    forks.threshold = 1h;
    forks.begin.kind = forks.end.kind = settings::MarkerKind::Tracepoint;
    forks.begin.provider = forks.end.provider = "syscalls";
    forks.begin.name = "sys_enter_getppid";
    forks.end.name = "sys_exit_getppid";
    watch({forks, forks});
    ASSERT_EQ(status(0).problem, "");
    const auto parents = [] {
        for (int i = 0; i < 3; ++i) (void)::getppid();
    };
    const std::uint64_t before[] = {status(0).counters.runs(), status(1).counters.runs()};
    parents();
    EXPECT_GE(status(0).counters.runs(), before[0] + 3) << "other processes may call it, too";
    EXPECT_GE(status(1).counters.runs(), before[1] + 3);
    EXPECT_THAT(monitor_->hits().at(1).kinds,
                ElementsAre(ProbeKind::Tracepoint, ProbeKind::Tracepoint));
    EXPECT_THAT(monitor_->program_fds(), SizeIs(2)) << "a copy for each event";
}

TEST_F(AnEventArming, FollowsCopiesThatProcessesMap) {
    watch_copies();
    EXPECT_TRUE(status().armed);
    EXPECT_EQ(status().copies.files, 0U);
    const std::string second = folder_ / "libmarked-2.so";
    fs::copy(marked(), second);
    map(path_);
    map(second);
    await("both copies", [this] { return status().copies.files == 2; });
    EXPECT_TRUE(monitor_->copies_are_armed());
    EXPECT_THAT(monitor_->processes_of(0), ElementsAre(static_cast<std::uint32_t>(::getpid())));
    const LoadedLibrary one(path_), other(second);
    one.call_all({"marked_begin", "marked_stage", "marked_end"});
    other.call_all({"marked_begin", "marked_stage", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 2U);
    EXPECT_EQ(status().counters.markers[LAGTRAP_PLACE_STAGE].hits, 2U);
    EXPECT_THAT(monitor_->hits().at(0).kinds, SizeIs(4));

    // Parts that are disabled and come back do so in all copies.
    monitor_->disable(0, "too expensive", true);
    one.call_all({"marked_begin", "marked_end"});
    other.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.counted, 2U);
    monitor_->enable(0, true);
    await_told("armed 0");
    one.call_all({"marked_begin", "marked_end"});
    other.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 4U);

    // A copy that is being written is left, the other one is not.
    {
        const std::ofstream writer(second, std::ios::app);
        const std::uint64_t begins = status().counters.begins().hits;
        other.call("marked_begin");
        EXPECT_EQ(status().counters.begins().hits, begins);
        one.call_all({"marked_begin", "marked_end"});
        EXPECT_EQ(status().counters.runs(), 5U);
    }

    // So is one that no process maps any more.
    mapped_.begin_scan();
    mapped_.end_scan();
    mapped_.done();
    await("no copy", [this] { return status().copies.files == 0; });
    await("its markers to be detached", [&] {
        const std::uint64_t begins = status().counters.begins().hits;
        one.call("marked_begin");
        return status().counters.begins().hits == begins;
    });
}

TEST_F(AnEventArming, LooksAgainAtACopyThatCouldNotBeOpened) {
    watch_copies();
    const std::string late = folder_ / "libmarked-late.so";
    map(late);
    map(path_);
    await("the other copy", [this] { return status().copies.files == 1; });
    fs::copy(marked(), folder_ / "new");
    fs::rename(folder_ / "new", late);
    await("the late copy", [this] { return status().copies.files == 2; });
    const LoadedLibrary library(late);
    library.call_all({"marked_begin", "marked_end"});
    EXPECT_EQ(status().counters.runs(), 1U);
}

}  // namespace
}  // namespace lagtrap::daemon::event_arming_test
