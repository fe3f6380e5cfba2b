#include "daemon/events/event_plan.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon::event_plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

settings::Marker function(const std::string& name,
                          settings::FunctionSide side = settings::FunctionSide::Entry) {
    settings::Marker marker;
    marker.kind = settings::MarkerKind::Function;
    marker.binary = build_folder() + "/daemon/daemon_deeply_inlined_program";
    marker.name = name;
    marker.side = side;
    return marker;
}

class EventPlanTest : public testing::Test {
  protected:
    EventPlanTest() {
        event_.begin = function("main");
        event_.end = function("outermost_function");
    }
    Result<EventPlan> plan(EventPlanner::Follows follows = {}) {
        EventPlanner planner([](const std::string& path) { return WatchedFile::open(path); },
                             std::move(follows));
        return planner.plan(event_, {});
    }
    // As "end 1 outermost_function".
    static std::vector<std::string> markers_of(const EventPlan& plan) {
        std::vector<std::string> markers;
        for (const MarkerPlan& one : plan.markers) {
            const char* const role = one.role == LAGTRAP_ROLE_BEGIN   ? "begin "
                                     : one.role == LAGTRAP_ROLE_STAGE ? "stage "
                                                                      : "end ";
            markers.push_back(role + std::to_string(one.stage) + " " + one.marker.name);
        }
        return markers;
    }
    [[nodiscard]] std::vector<std::string> planned(EventPlanner::Follows follows = {}) {
        const auto found = plan(std::move(follows));
        return found ? markers_of(*found) : std::vector<std::string>{found.error().message};
    }

    settings::Event event_;
};

TEST_F(EventPlanTest, AttachesEndsAndStagesBeforeTheBegin) {
    event_.other_ends.push_back({function("main"), settings::EndMeaning::Failed});
    event_.other_ends.push_back({function("outermost_function"), settings::EndMeaning::Failed});
    event_.stages.push_back({"one", function("main")});
    event_.stages.push_back({"two", function("outermost_function")});
    EXPECT_THAT(planned(),
                ElementsAre("end 0 outermost_function", "end 1 main", "end 2 outermost_function",
                            "stage 0 main", "stage 1 outermost_function", "begin 0 main"));
}

TEST_F(EventPlanTest, ValuesAreThoseOfTheirMarkers) {
    event_.key = settings::KeyKind::Argument;
    event_.begin.key = settings::ArgumentRef{2, {}, {}};
    event_.end.key = settings::ArgumentRef{3, {}, {}};
    event_.begin_time = settings::ArgumentRef{4, {}, {}};
    event_.trace_id = settings::ArgumentRef{5, {}, {}};
    const auto found = plan();
    ASSERT_TRUE(found) << found.error().message;
    const MarkerPlan &end = found->markers[0], &begin = found->markers[1];
    EXPECT_EQ(begin.key.argument, 2U);
    EXPECT_EQ(begin.second_key.argument, LAGTRAP_NO_ARGUMENT);
    EXPECT_EQ(begin.begin_time.argument, 4U);
    EXPECT_EQ(begin.trace.argument, 5U);
    EXPECT_EQ(end.key.argument, 3U);
    EXPECT_EQ(end.begin_time.argument, LAGTRAP_NO_ARGUMENT) << "only the begin has it";
    EXPECT_EQ(end.trace.argument, LAGTRAP_NO_ARGUMENT);
    EXPECT_EQ(begin.places.offsets.size(), 1U);
    EXPECT_FALSE(found->by_goroutine);
    EXPECT_FALSE(found->scope);
}

TEST_F(EventPlanTest, CallsAreKeyedByTheirFrameWhereReturnsNeedNoProbeOfTheKernel) {
    event_.end = function("main", settings::FunctionSide::Return);
    bool by_return_probe = false;  // depends on the compiler
    const auto frames = [&] {
        const auto found = plan();
        if (!found) return found.error().message;
        std::string all;
        for (const MarkerPlan& one : found->markers) {
            by_return_probe = by_return_probe || one.places.return_probe;
            all += one.by_frame ? 'f' : '-';
        }
        return all;
    };
    const std::string planned_frames = frames();
    EXPECT_EQ(planned_frames, by_return_probe ? "--" : "ff");
    event_.nesting = settings::Nesting::Outermost;
    EXPECT_EQ(frames(), "--");
    event_.nesting = settings::Nesting::Each;
    event_.stages.push_back({"one", function("outermost_function")});
    EXPECT_EQ(frames(), "---");
}

TEST_F(EventPlanTest, FilesThatAreOpenedWhenMappedAreLeftOut) {
    event_.end.binary = "*/program";
    EXPECT_THAT(planned(), ElementsAre("begin 0 main"));
    event_.end.binary = "build-id:0102030405";
    EXPECT_THAT(planned(), ElementsAre("begin 0 main"));
    EXPECT_THAT(planned([this](const std::string& path) { return path == event_.begin.binary; }),
                IsEmpty());
    EXPECT_THAT(planned([](const std::string&) { return false; }), ElementsAre("begin 0 main"));
    event_.begin = {};
    event_.begin.kind = settings::MarkerKind::RunQueue;
    EXPECT_THAT(planned([](const std::string&) { return true; }), ElementsAre("begin 0 "))
        << "it is in no file";
}

TEST_F(EventPlanTest, ACopyHasTheMarkersOfTheNamesThatMeanIt) {
    const std::string path = event_.begin.binary;
    event_.begin.binary = "*/one";
    event_.end.binary = "*/two";
    event_.stages.push_back({"one", function("outermost_function")});
    EventPlanner planner([](const std::string& name) { return WatchedFile::open(name); });
    const auto found = planner.plan_copy(event_, {"*/one", "*/other"}, path, {});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(markers_of(*found), ElementsAre("begin 0 main"));
    EXPECT_EQ(found->markers[0].marker.binary, path);
    EXPECT_EQ(planner.last_file(), path);
    EXPECT_EQ(markers_of(*planner.plan_copy(event_, {"*/one", "*/two"}, path, {})).size(), 2U);
}

TEST_F(EventPlanTest, TheScopeIsTheFileThatIsThereNow) {
    event_.scope.binary = event_.begin.binary;
    const auto found = plan();
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_TRUE(found->scope);
    EXPECT_EQ(found->scope, program_file_at(event_.begin.binary).value());
    event_.scope.binary = "/nonexistent/program";
    EXPECT_EQ(plan().error().kind, ErrorKind::NotFound);
}

TEST_F(EventPlanTest, ErrorsNameTheMarker) {
    event_.end.name = "missing";
    EXPECT_THAT(planned(), ElementsAre(StartsWith("attach to function missing of " +
                                                  event_.end.binary + ": ")));
    event_.end.kind = settings::MarkerKind::Usdt;
    event_.end.provider = "shop";
    EXPECT_THAT(planned(), ElementsAre(StartsWith("attach to USDT probe shop:missing of ")));
}

TEST(MarkerPlanTest, SaysWhatIsBeingDone) {
    MarkerPlan plan;
    plan.marker.kind = settings::MarkerKind::Function;
    plan.marker.binary = "/bin/a";
    plan.marker.provider = "shop";
    plan.marker.name = "pay";
    EXPECT_EQ(plan.doing(), "attach to function pay of /bin/a");
    plan.marker.kind = settings::MarkerKind::Usdt;
    EXPECT_EQ(plan.doing(), "attach to USDT probe shop:pay of /bin/a");
    plan.marker.kind = settings::MarkerKind::Library;
    EXPECT_EQ(plan.doing(), "attach to USDT probe shop:pay of /bin/a");
    plan.marker.kind = settings::MarkerKind::RunQueue;
    EXPECT_EQ(plan.doing(), "attach to the scheduler's tracepoints");
    plan.marker.kind = settings::MarkerKind::Tracepoint;
    EXPECT_EQ(plan.doing(), "attach to tracepoint shop:pay");
}

}  // namespace
}  // namespace lagtrap::daemon::event_plan_test
