#include "daemon/objects/object_destructors.hpp"

#include <atomic>
#include <optional>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::object_destructors_test {
namespace {

#if defined(__x86_64__)
// A process with the library of tests/unit/daemon/programs/destroyed.cpp.
class ObjectDestructors : public testing::Test {
  protected:
    void SetUp() override {
        process_.programs[process_.paths[0]] = build_folder() + "/daemon/libdaemon_destroyed.so";
        code_.begin_anew();
        ASSERT_TRUE(code_.read(MadeUpProcess::pid));
        complete_ = address_of("_ZN4ItemD1Ev");
        if (complete_ == 0) complete_ = address_of("_ZN4ItemD2Ev");  // the same code
        deleting_ = address_of("_ZN4ItemD0Ev");
        weight_ = address_of("_ZN4Item6weightEv");
        whole_weight_ = address_of("_ZN4Item12whole_weightEv");
    }
    std::uint64_t address_of(const char* name) {
        const auto found = code_.find(0, name);
        return found.empty() ? 0 : code_.address_of(found.front()).value_or(0);
    }
    // The destructors if a table has these functions.
    std::set<std::uint64_t> among(const std::vector<std::uint64_t>& addresses,
                                  std::uint32_t file = 0) {
        std::vector<VirtualFunction> functions;
        for (const std::uint64_t address : addresses)
            functions.push_back({"Item", static_cast<std::uint32_t>(functions.size()), address});
        return destructors_among(code_, file, functions);
    }

    MadeUpProcess process_{{"/opt/shop/libitem.so", "/opt/shop/shop"}};
    std::atomic<bool> given_up_{false};
    ProcessFiles code_{process_, given_up_};
    std::uint64_t complete_ = 0, deleting_ = 0, weight_ = 0, whole_weight_ = 0;
};

TEST_F(ObjectDestructors, ArePairsOfWhichTheSecondCallsTheFirstAndFreesTheObject) {
    EXPECT_THAT(among({complete_, deleting_, weight_, whole_weight_}),
                testing::UnorderedElementsAre(complete_, deleting_));
    EXPECT_THAT(among({weight_, complete_, deleting_}),
                testing::UnorderedElementsAre(complete_, deleting_));
}

TEST_F(ObjectDestructors, AreAdjacentInOneTable) {
    EXPECT_TRUE(among({complete_, weight_, deleting_}).empty());
    EXPECT_TRUE(among({deleting_, complete_}).empty());
    // The last function of one table and the first of the next.
    EXPECT_TRUE(
        destructors_among(code_, 0, {{"Item", 3, complete_}, {"Other", 0, deleting_}}).empty());
}

TEST_F(ObjectDestructors, AreInTheFileOfTheTable) {
    EXPECT_TRUE(among({complete_, deleting_}, 1).empty());
    EXPECT_TRUE(among({complete_ + MadeUpProcess::distance, deleting_}).empty());
    EXPECT_EQ(offset_in(code_, 0, complete_), complete_ - MadeUpProcess::distance);
    EXPECT_EQ(offset_in(code_, 1, complete_), std::nullopt);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::object_destructors_test
