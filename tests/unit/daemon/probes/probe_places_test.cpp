#include "daemon/probes/probe_places.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>

#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon::probe_places_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* postgres = "/usr/lib/postgresql/15/bin/postgres";

settings::Marker usdt(const std::string& name) {
    settings::Marker marker;
    marker.kind = settings::MarkerKind::Usdt;
    marker.binary = postgres;
    marker.provider = "postgresql";
    marker.name = name;
    return marker;
}

settings::Marker function(const std::string& name, settings::FunctionSide side) {
    settings::Marker marker;
    marker.kind = settings::MarkerKind::Function;
    marker.binary = build_folder() + "/binaries/store/libstore.so";
    marker.name = name;
    marker.side = side;
    return marker;
}

class ProbePlannerTest : public testing::Test {
  protected:
    int opened_ = 0;
    ProbePlanner planner_{[this](const std::string& path) {
        ++opened_;
        return WatchedFile::open(path);
    }};
};

TEST_F(ProbePlannerTest, ProbesHaveTheirSemaphores) {
    auto file = binaries::ProgramFile::open(postgres);
    ASSERT_TRUE(file) << file.error().message;
    const auto probes = file->usdt_probes();
    ASSERT_TRUE(probes);
    const auto query = std::find_if(probes->begin(), probes->end(),
                                    [](const auto& probe) { return probe.name == "query__done"; });
    ASSERT_NE(query, probes->end());
    const auto places = planner_.usdt_places(usdt("query__done"), {});
    ASSERT_TRUE(places) << places.error().message;
    ASSERT_THAT(places->semaphores, SizeIs(places->offsets.size()));
    EXPECT_NE(places->semaphores[0], 0U);
    EXPECT_EQ(file->address_of(places->semaphores[0]), query->semaphore);
    EXPECT_THAT(places->arguments, IsEmpty());
    EXPECT_EQ(places->build_id, file->build_id());
}

TEST_F(ProbePlannerTest, ProbesHaveTheArgumentsThatAreWanted) {
    WantedArguments wanted;
    wanted.key = 0;
    const auto places = planner_.usdt_places(usdt("query__start"), wanted);
    ASSERT_TRUE(places) << places.error().message;
    ASSERT_THAT(places->arguments, SizeIs(places->offsets.size()));
    EXPECT_NE(places->arguments[0].key.place, LAGTRAP_ARGUMENT_NONE);
    EXPECT_EQ(places->arguments[0].begin_time.place, LAGTRAP_ARGUMENT_NONE);
    wanted.key = 11;  // it has one argument
    const auto without = planner_.usdt_places(usdt("query__start"), wanted);
    ASSERT_TRUE(without);
    EXPECT_THAT(without->arguments, IsEmpty());
    EXPECT_FALSE(planner_.usdt_places(usdt("no__such__probe"), {}));
    EXPECT_EQ(opened_, 1) << "a file is opened once";
}

TEST_F(ProbePlannerTest, FunctionsAreProbedAtTheirEntryOrWhereTheyAreLeft) {
    const auto entry =
        planner_.function_places(function("plain_function", settings::FunctionSide::Entry));
    ASSERT_TRUE(entry) << entry.error().message;
    EXPECT_THAT(entry->offsets, SizeIs(1));
    EXPECT_FALSE(entry->return_probe);
    EXPECT_THAT(entry->exits, IsEmpty());
    const auto exits =
        planner_.function_places(function("plain_function", settings::FunctionSide::Return));
    ASSERT_TRUE(exits) << exits.error().message;
    EXPECT_EQ(exits->return_probe, exits->kind == ProbeKind::Return);
    if (!exits->return_probe) EXPECT_NE(exits->offsets[0], entry->offsets[0]);
}

TEST(ArgumentAt, KeepsWhereTheArgumentIs) {
    binaries::UsdtArgument argument;
    argument.place = binaries::UsdtPlace::Memory;
    argument.number = 24;
    argument.bytes = 4;
    argument.is_signed = true;
    argument.base = 7;
    argument.index = 3;
    argument.scale_shift = 2;
    argument.first_bit = 8;
    const lagtrap_argument place = argument_at(argument);
    EXPECT_EQ(place.place, LAGTRAP_ARGUMENT_MEMORY);
    EXPECT_EQ(place.number, 24);
    EXPECT_EQ(place.bytes, 4);
    EXPECT_TRUE(place.is_signed);
    EXPECT_EQ(place.base, 7);
    EXPECT_EQ(place.index, 3);
    EXPECT_EQ(place.scale_shift, 2);
    EXPECT_EQ(place.first_bit, 8);
    argument.place = binaries::UsdtPlace::Constant;
    EXPECT_EQ(argument_at(argument).place, LAGTRAP_ARGUMENT_CONSTANT);
    argument.place = binaries::UsdtPlace::Register;
    EXPECT_EQ(argument_at(argument).place, LAGTRAP_ARGUMENT_REGISTER);
}

}  // namespace
}  // namespace lagtrap::daemon::probe_places_test
