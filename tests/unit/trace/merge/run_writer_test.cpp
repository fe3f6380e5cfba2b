#include "trace/merge/run_writer.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::run_writer_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RunWriterTest : public Packets {
  protected:
    static Session session() {
        Session made;
        made.events = {{"request", 50, 0, {"parse", "plan\n"}, ""},
                       {"disk\n", 10, 0, {"sync"}, ""}};
        return made;
    }
    static lagtrap_run run(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns,
                           std::uint64_t end_ns) {
        lagtrap_run made{};
        made.event = event;
        made.begin_pid = made.end_pid = 100;
        made.begin_tid = made.end_tid = tid;
        made.begin_ns = begin_ns;
        made.end_ns = end_ns;
        return made;
    }
    static void add_stage(lagtrap_run& run, std::uint16_t stage, std::uint64_t at_ns) {
        run.stages[run.stage_count++] = {at_ns, run.begin_tid, stage, 0};
    }
    void begin(const lagtrap_run& run) {
        RunFacts facts;
        facts.id = ++id_;
        facts.duration_ns = run.end_ns - run.begin_ns;
        runs_.begin(run, facts);
    }
    // "TIME TRACK", then the number of the name of what begins, of each slice.
    std::vector<std::string> slices() {
        std::vector<std::string> found;
        for (const std::string& line : packets("track_event{")) {
            const auto value = [&](const std::string& name) {
                const std::size_t at = line.find(" " + name + "=");
                return at == std::string::npos
                           ? std::string()
                           : line.substr(at + name.size() + 2,
                                         line.find_first_of(" }", at + 1) - at - name.size() - 2);
            };
            const bool begins = line.find("type=1") != std::string::npos;
            const std::size_t event = line.find("track_event");
            found.push_back(line.substr(2, line.find(' ', 2) - 2) + " " + value("track") +
                            (begins ? " +" + line.substr(line.find(" name=", event) + 6, 1) : ""));
        }
        return found;
    }

    const Session session_ = session();
    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    ThreadTable threads_{spaces_, writer_, 1000, session_.containers};
    RunWriter runs_{session_, threads_, writer_, 1000};
    std::uint64_t id_ = 0;
};

TEST_F(RunWriterTest, ARunIsASliceWithItsFacts) {
    lagtrap_run slow = run(1, 101, 10, 30);
    slow.key = 7;
    slow.depth = 2;
    slow.end_pid = 200;
    slow.end_tid = 0;
    slow.flags = LAGTRAP_RUN_OPEN;
    RunFacts facts{9, 20, 4, true, false};
    runs_.begin(slow, facts);
    runs_.write_due(100);
    const auto found = packets("track_event{");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(
        found[0],
        "2 1010 flags=2 interned{categories{iid=1 text='lagtrap.run'} "
        "categories{iid=2 text='lagtrap.delay'} categories{iid=3 text='lagtrap.stage'} "
        "annotation_names{iid=1 text='run'} annotation_names{iid=2 text='event'} "
        "annotation_names{iid=3 text='threshold_ns'} annotation_names{iid=4 text='duration_ns'} "
        "annotation_names{iid=5 text='queued_ns'} annotation_names{iid=6 text='key'} "
        "annotation_names{iid=7 text='depth'} annotation_names{iid=8 text='begin_pid'} "
        "annotation_names{iid=9 text='begin_tid'} annotation_names{iid=10 text='end_pid'} "
        "annotation_names{iid=11 text='end_tid'} annotation_names{iid=12 text='delay'} "
        "annotation_names{iid=13 text='open'} annotation_names{iid=14 text='abandoned'} "
        "annotation_names{iid=15 text='reported_at_deadline'} "
        "annotation_names{iid=16 text='first'} annotation_names{iid=17 text='stage_tid'} "
        "annotation_names{iid=18 text='earlier_begin'} annotation_names{iid=19 text='goroutine'} "
        "annotation_names{iid=20 text='in_go'} annotation_names{iid=21 text='without_stages'} "
        "event_names{iid=1 text='request'} event_names{iid=3 text='parse'} "
        "event_names{iid=4 text='plan\\\\x0a'} event_names{iid=2 text='disk\\\\x0a'} "
        "event_names{iid=5 text='sync'}} "
        "track_event{categories=2 type=1 name=2 track=1 annotations{name=1 uint=9} "
        "annotations{name=2 string='disk\\\\x0a'} annotations{name=3 uint=10} "
        "annotations{name=4 uint=20} annotations{name=5 uint=4} annotations{name=6 uint=7} "
        "annotations{name=7 uint=2} annotations{name=8 uint=100} annotations{name=9 uint=101} "
        "annotations{name=10 uint=200} annotations{name=11 uint=0} annotations{name=12 bool=1} "
        "annotations{name=13 bool=1} annotations{name=14 bool=0} annotations{name=15 bool=0} "
        "annotations{name=16 bool=0} annotations{name=18 bool=0}}");
    EXPECT_EQ(found[1], "2 1030 flags=2 track_event{type=2 track=1}");
}

TEST_F(RunWriterTest, EachFlagIsAnAnnotation) {
    const auto flags = [&](unsigned flag, bool first = false) {
        lagtrap_run one = run(0, 101, 10 * id_, 10 * id_ + 5);
        one.flags = static_cast<__u8>(flag);
        one.key = 7;
        runs_.begin(one, {++id_, 5, 0, false, first});
        runs_.write_due(10 * id_);
        const std::string line = packets("type=1").back();
        std::string set;
        for (std::size_t at = line.find("{name="); at != std::string::npos;
             at = line.find("{name=", at + 1)) {
            const std::string one_annotation = line.substr(at + 6, line.find('}', at) - at - 6);
            if (one_annotation.ends_with("bool=1") || one_annotation.starts_with("6 ") ||
                one_annotation.starts_with("19 "))
                set += one_annotation.substr(0, one_annotation.find(' ')) +
                       (one_annotation.ends_with("uint=7") ? "=7 " : " ");
        }
        return set;
    };
    EXPECT_EQ(flags(0), "6=7 ");
    EXPECT_EQ(flags(0, true), "6=7 16 ");
    EXPECT_EQ(flags(LAGTRAP_RUN_OPEN), "6=7 13 ");
    EXPECT_EQ(flags(LAGTRAP_RUN_DELAY), "6=7 ") << "the facts say what is a delay";
    EXPECT_EQ(flags(LAGTRAP_RUN_ABANDONED), "6=7 14 ");
    EXPECT_EQ(flags(LAGTRAP_RUN_REPORTED), "6=7 15 ");
    EXPECT_EQ(flags(LAGTRAP_RUN_EARLIER_BEGIN), "6=7 18 ");
    EXPECT_EQ(flags(LAGTRAP_RUN_OF_GOROUTINE), "6 19=7 ");
    EXPECT_EQ(flags(LAGTRAP_RUN_IN_GO), "6=7 20 ");
    EXPECT_EQ(flags(LAGTRAP_RUN_WITHOUT_STAGES), "6=7 21 ");
    EXPECT_THAT(packets("type=1").front(), HasSubstr("track_event{categories=1 "));
}

TEST_F(RunWriterTest, AThreadHasATrack) {
    lagtrap_run one = run(0, 101, 10, 20);
    set_comm(one.comm, "worker");
    begin(one);
    begin(run(0, 101, 30, 40));
    begin(run(0, 102, 31, 32));
    EXPECT_THAT(packets("track{"),
                ElementsAre("2 1010 flags=1 track{uuid=1 thread{pid=100 tid=101 name='worker'}}",
                            "2 1031 track{uuid=2 thread{pid=100 tid=102}}"));
    EXPECT_EQ(runs_.next_due_ns(), 32U);
    runs_.write_due(32);
    EXPECT_THAT(slices(), ElementsAre("1010 1 +1", "1020 1", "1030 1 +1", "1031 2 +1", "1032 2"));
    runs_.write_due(40);
    EXPECT_EQ(runs_.next_due_ns(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(slices().size(), 6U);
}

TEST_F(RunWriterTest, ATrackHasTheThreadsNameOfItsTime) {
    lagtrap_thread thread{};
    thread.pid = 100;
    thread.tid = 101;
    set_comm(thread.comm, "listed");
    threads_.write_initial({thread}, 1);
    lagtrap_run one = run(0, 101, 10, 20);
    set_comm(one.comm, "of run");
    begin(one);
    // The number belongs to another thread now.
    threads_.take(
        record_with(lagtrap_task_change{{}, 100, 101, 100, 7}, LAGTRAP_RECORD_FORK, 30, 0), 30);
    begin(run(0, 101, 40, 41));
    EXPECT_THAT(packets("track{uuid"),
                ElementsAre(HasSubstr("uuid=1 thread{pid=100 tid=101 name='listed'}"),
                            HasSubstr("uuid=2 thread{pid=100 tid=101}")));
}

TEST_F(RunWriterTest, RunsThatNestShareTheTrack) {
    begin(run(0, 101, 10, 50));
    begin(run(1, 101, 20, 50));
    begin(run(1, 101, 30, 40));
    runs_.write_due(100);
    EXPECT_THAT(slices(),
                ElementsAre("1010 1 +1", "1020 1 +2", "1030 1 +2", "1040 1", "1050 1", "1050 1"));
    EXPECT_THAT(packets("parent="), IsEmpty());
}

TEST_F(RunWriterTest, RunsThatDoNotNestHaveATrackOfTheirOwn) {
    begin(run(0, 101, 10, 50));
    begin(run(1, 101, 20, 51));
    begin(run(1, 101, 30, 52));
    begin(run(1, 101, 51, 60));  // nothing is open on the thread
    begin(run(0, 101, 55, 61));  // of another event
    begin(run(1, 101, 56, 62));  // the event's other tracks are free again
    runs_.write_due(100);
    const auto tracks = packets("track{uuid");
    ASSERT_EQ(tracks.size(), 5U);
    EXPECT_THAT(tracks[1], HasSubstr("track{uuid=2 process{pid=100}}"));
    EXPECT_EQ(tracks[2], "2 1020 track{uuid=3 parent=2 name='disk\\\\x0a'}");
    EXPECT_EQ(tracks[3], "2 1030 track{uuid=4 parent=2 name='disk\\\\x0a'}");
    EXPECT_EQ(tracks[4], "2 1055 track{uuid=5 parent=2 name='request'}");
    EXPECT_THAT(slices(),
                ElementsAre("1010 1 +1", "1020 3 +2", "1030 4 +2", "1050 1", "1051 3", "1051 1 +2",
                            "1052 4", "1055 5 +1", "1056 3 +2", "1060 1", "1061 5", "1062 3"));
}

TEST_F(RunWriterTest, RunsThatEndElsewhereHaveATrackOfTheirOwn) {
    const auto own = [&](auto change) {
        const std::uint64_t at_ns = 100 * (id_ + 1);
        lagtrap_run one = run(0, 101, at_ns, at_ns + 5);
        change(one);
        const std::size_t before = packets("parent=").size();
        begin(one);
        runs_.write_due(at_ns + 50);
        const std::string slice = packets("type=1").back();
        return packets("parent=").size() > before || slice.find(" track=1 ") == std::string::npos;
    };
    EXPECT_FALSE(own([](lagtrap_run&) {}));
    EXPECT_TRUE(own([](lagtrap_run& one) { one.end_tid = 102; }));
    EXPECT_FALSE(own([](lagtrap_run& one) { one.end_tid = 0; }));
    EXPECT_FALSE(own([](lagtrap_run& one) {
        one.end_tid = 102;
        one.flags = LAGTRAP_RUN_OPEN;
    }));
    EXPECT_TRUE(own([](lagtrap_run& one) { one.flags = LAGTRAP_RUN_IN_GO; }));
}

TEST_F(RunWriterTest, LanesAreOfOneEventAndProcess) {
    lagtrap_run other = run(0, 101, 10, 20);
    other.end_tid = 102;
    begin(other);
    other = run(1, 101, 30, 40);
    other.end_tid = 102;
    begin(other);
    other = run(0, 301, 50, 60);
    other.begin_pid = 300;
    other.end_tid = 102;
    begin(other);
    EXPECT_THAT(packets("parent="), ElementsAre(HasSubstr("uuid=2 parent=1 name='request'"),
                                                HasSubstr("uuid=3 parent=1 name='disk"),
                                                HasSubstr("uuid=5 parent=4 name='request'")));
}

TEST_F(RunWriterTest, StagesLastUntilTheNextOne) {
    lagtrap_run staged = run(0, 101, 10, 50);
    add_stage(staged, 1, 30);
    add_stage(staged, 0, 20);
    add_stage(staged, 9, 25);  // of no event
    add_stage(staged, 0, 5);   // before the begin
    add_stage(staged, 1, 70);  // after the end
    begin(staged);
    EXPECT_EQ(runs_.next_due_ns(), 10U);
    runs_.write_due(100);
    EXPECT_THAT(slices(), ElementsAre("1010 1 +1", "1010 1 +3", "1020 1", "1020 1 +3", "1030 1",
                                      "1030 1 +4", "1050 1", "1050 1 +4", "1050 1", "1050 1"));
    EXPECT_THAT(packets("categories=3").front(),
                HasSubstr("track_event{categories=3 type=1 name=3 track=1 annotations{name=1 "
                          "uint=1} annotations{name=17 uint=101}}"));
}

TEST_F(RunWriterTest, ARunNestsWithinAStage) {
    lagtrap_run staged = run(0, 101, 10, 50);
    add_stage(staged, 0, 30);
    begin(staged);
    begin(run(1, 101, 20, 30));  // up to the stage
    begin(run(1, 101, 40, 50));
    runs_.write_due(100);
    EXPECT_THAT(packets("parent="), IsEmpty());
    lagtrap_run crossed = run(0, 101, 110, 150);
    add_stage(crossed, 0, 130);
    begin(crossed);
    begin(run(1, 101, 120, 131));  // beyond it
    EXPECT_THAT(packets("parent="), testing::SizeIs(1));
}

TEST_F(RunWriterTest, StagesOfTheSecondEventHaveItsNames) {
    lagtrap_run staged = run(1, 101, 10, 50);
    add_stage(staged, 0, 20);
    add_stage(staged, 1, 30);  // it has only one
    begin(staged);
    runs_.write_due(100);
    EXPECT_THAT(slices(), ElementsAre("1010 1 +2", "1020 1 +5", "1050 1", "1050 1"));
}

TEST_F(RunWriterTest, WhatIsDueIsWrittenBeforeTheNextBegin) {
    begin(run(0, 101, 10, 20));
    begin(run(0, 102, 20, 30));
    EXPECT_THAT(slices(), ElementsAre("1010 1 +1", "1020 1", "1020 2 +1"));
    EXPECT_EQ(runs_.next_due_ns(), 30U);
    runs_.write_due(29);
    EXPECT_EQ(slices().size(), 3U);
}

}  // namespace
}  // namespace lagtrap::trace::run_writer_test
