#include "trace/perfetto/call_slices.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::call_slices_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

calls::Call call(std::uint32_t function, std::uint32_t parent, std::uint64_t begin_ns,
                 std::uint64_t end_ns) {
    calls::Call made;
    made.function = function;
    made.parent = parent;
    made.begin_ns = begin_ns;
    made.end_ns = end_ns;
    return made;
}

calls::Tree tree(std::uint32_t tid, std::uint64_t began_ns, std::vector<calls::Call> all) {
    calls::Tree made;
    made.tid = tid;
    made.thread = "worker";
    made.began_monotonic_ns = began_ns;
    made.calls = std::move(all);
    return made;
}

class CallSlicesTest : public Packets {
  protected:
    CallSlicesTest() {
        std::vector<calls::Function> functions(2);
        functions[0].name = "outer";
        functions[0].module = "/bin/app";
        functions[0].source = "/src/app.c";
        functions[0].line = 12;
        functions[1].name = "inner";
        functions[1].seen = true;
        slices_.add_functions(functions);
    }
    // Adds a tree whose calls have these times.
    bool add(const calls::Tree& added, std::uint32_t pid = 100) {
        std::vector<calls::Times> times;
        for (std::size_t i = 0; i < added.calls.size(); ++i)
            times.push_back({10 * i + 1, 10 * i + 2, 10 * i + 3, 10 * i + 4, 10 * i + 5});
        return slices_.add(added, times, pid, "server");
    }
    // "TIME+TRACK.NAME" for what begins, "TIME-TRACK" for what ends.
    std::vector<std::string> edges() {
        slices_.sort();
        slices_.write_due(UINT64_MAX - 1);
        std::vector<std::string> found;
        for (const std::string& line : packets("track_event{")) {
            const std::string event = line.substr(line.find("track_event{"));
            const auto value = [&](const std::string& name) {
                const std::size_t at = event.find(name + "=") + name.size() + 1;
                return event.substr(at, event.find_first_of(" }", at) - at);
            };
            const std::string time = line.substr(2, line.find(' ', 2) - 2);
            const std::string track = std::to_string(std::stoull(value("track")) - (1ULL << 32));
            found.push_back(value("type") == "1" ? time + "+" + track + "." + value(" name")
                                                 : time + "-" + track);
        }
        return found;
    }

    CallSlices slices_{writer_, 1000, "calls of main"};
};

TEST_F(CallSlicesTest, ACallIsASliceWithItsFacts) {
    calls::Tree added = tree(101, 50, {call(0, calls::no_parent, 0, 30), call(1, 0, 5, 20)});
    added.calls[1].end = calls::CallEnd::TailCall;
    added.calls[1].left_out = 7;
    EXPECT_TRUE(add(added));
    EXPECT_EQ(slices_.trees(), 1U);
    slices_.sort();
    EXPECT_EQ(slices_.next_due_ns(), 50U);
    slices_.write_due(1000);
    EXPECT_THAT(
        packets(),
        ElementsAre("6 1050 flags=1 track{uuid=8589934692 process{pid=100 name='server'}}",
                    "6 1050 track{uuid=4294967296 thread{pid=100 tid=101 name='worker'}}",
                    "6 1050 track{uuid=4294967297 name='calls of main' parent=4294967296}",
                    "6 1050 flags=2 interned{categories{iid=1 text='lagtrap.call'} "
                    "annotation_names{iid=1 text='wall_ns'} annotation_names{iid=2 text='own_ns'} "
                    "annotation_names{iid=3 text='on_cpu_ns'} "
                    "annotation_names{iid=4 text='runnable_ns'} "
                    "annotation_names{iid=5 text='blocked_ns'} "
                    "annotation_names{iid=6 text='module'} annotation_names{iid=7 text='source'} "
                    "annotation_names{iid=8 text='ended'} annotation_names{iid=9 text='not_kept'} "
                    "annotation_names{iid=10 text='seen'} "
                    "annotation_names{iid=11 text='begin_pid'} "
                    "annotation_names{iid=12 text='begin_tid'} event_names{iid=1 text='outer'} "
                    "annotation_strings{iid=1 text='/bin/app'} "
                    "annotation_strings{iid=2 text='/src/app.c:12'}} "
                    "track_event{categories=1 type=1 name=1 track=4294967297 "
                    "annotations{name=1 uint=1} annotations{name=2 uint=5} "
                    "annotations{name=3 uint=2} annotations{name=4 uint=3} "
                    "annotations{name=5 uint=4} annotations{name=6 string_iid=1} "
                    "annotations{name=7 string_iid=2} annotations{name=11 uint=100} "
                    "annotations{name=12 uint=101}}",
                    "6 1055 flags=2 interned{event_names{iid=2 text='inner'} "
                    "annotation_strings{iid=3 text='tail call'}} track_event{categories=1 type=1 "
                    "name=2 track=4294967297 annotations{name=1 uint=11} "
                    "annotations{name=2 uint=15} annotations{name=3 uint=12} "
                    "annotations{name=4 uint=13} annotations{name=5 uint=14} "
                    "annotations{name=8 string_iid=3} annotations{name=9 uint=7} "
                    "annotations{name=10 uint=1}}",
                    "6 1070 flags=2 track_event{type=2 track=4294967297}",
                    "6 1080 flags=2 track_event{type=2 track=4294967297}"));
}

TEST_F(CallSlicesTest, AGoroutineHasATrackOfItsOwn) {
    calls::Tree added = tree(101, 50, {call(0, calls::no_parent, 0, 30)});
    added.goroutine = 17;
    EXPECT_TRUE(add(added));
    added.tid = 102;
    added.began_monotonic_ns = 90;
    EXPECT_TRUE(add(added)) << "the same one, on another thread";
    slices_.sort();
    slices_.write_due(1000);
    EXPECT_THAT(
        packets(),
        ElementsAre("6 1050 flags=1 track{uuid=8589934692 process{pid=100 name='server'}}",
                    "6 1050 track{uuid=4294967297 name='goroutine 17, calls of main' "
                    "parent=8589934692}",
                    "6 1050 flags=2 interned{categories{iid=1 text='lagtrap.call'} "
                    "annotation_names{iid=1 text='wall_ns'} annotation_names{iid=2 text='own_ns'} "
                    "annotation_names{iid=3 text='on_cpu_ns'} "
                    "annotation_names{iid=4 text='runnable_ns'} "
                    "annotation_names{iid=5 text='blocked_ns'} "
                    "annotation_names{iid=6 text='module'} annotation_names{iid=7 text='source'} "
                    "annotation_names{iid=8 text='ended'} annotation_names{iid=9 text='not_kept'} "
                    "annotation_names{iid=10 text='seen'} "
                    "annotation_names{iid=11 text='begin_pid'} "
                    "annotation_names{iid=12 text='begin_tid'} event_names{iid=1 text='outer'} "
                    "annotation_strings{iid=1 text='/bin/app'} "
                    "annotation_strings{iid=2 text='/src/app.c:12'}} "
                    "track_event{categories=1 type=1 name=1 track=4294967297 "
                    "annotations{name=1 uint=1} annotations{name=2 uint=5} "
                    "annotations{name=6 string_iid=1} annotations{name=7 string_iid=2} "
                    "annotations{name=11 uint=100} annotations{name=12 uint=101}}",
                    "6 1080 flags=2 track_event{type=2 track=4294967297}",
                    "6 1090 flags=2 track_event{categories=1 type=1 name=1 track=4294967297 "
                    "annotations{name=1 uint=1} annotations{name=2 uint=5} "
                    "annotations{name=6 string_iid=1} annotations{name=7 string_iid=2} "
                    "annotations{name=11 uint=100} annotations{name=12 uint=102}}",
                    "6 1120 flags=2 track_event{type=2 track=4294967297}"));
}

TEST_F(CallSlicesTest, EachThreadHasATrackAndEachProcessIsDescribedOnce) {
    EXPECT_TRUE(add(tree(101, 50, {call(0, calls::no_parent, 0, 5)})));
    EXPECT_TRUE(add(tree(102, 60, {call(1, calls::no_parent, 0, 5)})));
    EXPECT_TRUE(add(tree(101, 70, {call(1, calls::no_parent, 0, 5)})));
    EXPECT_TRUE(add(tree(201, 80, {call(1, calls::no_parent, 0, 5)}), 200));
    EXPECT_THAT(edges(), ElementsAre("1050+1.1", "1055-1", "1060+3.2", "1065-3", "1070+1.2",
                                     "1075-1", "1080+5.2", "1085-5"));
    EXPECT_THAT(packets("process{pid=100 name='server'}"), SizeIs(1));
    EXPECT_THAT(packets("process{pid=200 name='server'}"), SizeIs(1));
}

TEST_F(CallSlicesTest, SlicesCloseBeforeTheNextOneOfTheirCallerOpens) {
    EXPECT_TRUE(add(tree(101, 50,
                         {call(0, calls::no_parent, 0, 30), call(1, 0, 5, 12), call(1, 1, 6, 14),
                          call(1, 0, 10, 40)})));
    EXPECT_TRUE(add(tree(102, 55, {call(0, calls::no_parent, 0, 1)})));
    EXPECT_THAT(edges(), ElementsAre("1050+1.1", "1055+1.2", "1055+3.1", "1056+1.2", "1056-3",
                                     "1060-1", "1060-1", "1060+1.2", "1090-1", "1090-1"));
}

TEST_F(CallSlicesTest, TreesBeyondTheLimitAreLeftOut) {
    calls::Tree most = tree(101, 50, {});
    most.calls.assign(call_slices_limit, call(0, calls::no_parent, 0, 0));
    const std::vector<calls::Times> times(call_slices_limit);
    EXPECT_TRUE(slices_.add(most, times, 100, "server"));
    EXPECT_FALSE(add(tree(101, 60, {call(0, calls::no_parent, 0, 5)})));
    EXPECT_EQ(slices_.trees(), 1U);
}

TEST_F(CallSlicesTest, FunctionsThatAreAddedLaterContinueTheNumbers) {
    calls::Function more;
    more.name = "more";
    slices_.add_functions({more});
    ASSERT_THAT(slices_.functions(), SizeIs(3));
    EXPECT_EQ(slices_.functions()[2].name, "more");
    EXPECT_EQ(slices_.next_due_ns(), UINT64_MAX);
    EXPECT_TRUE(add(tree(101, 50, {call(2, calls::no_parent, 0, 5)})));
    EXPECT_THAT(edges(), ElementsAre("1050+1.3", "1055-1"));
    EXPECT_THAT(packets("event_names{iid=3 text='more'}"), SizeIs(1));
}

}  // namespace
}  // namespace lagtrap::trace::call_slices_test
