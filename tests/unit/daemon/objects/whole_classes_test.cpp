#include "daemon/objects/whole_classes.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::whole_classes_test {
namespace {

using calls::ObjectRole;
using testing::ElementsAre;

std::vector<calls::ObjectFunction> functions() {
    std::vector<calls::ObjectFunction> all;
    const auto add = [&](ObjectRole role, std::uint32_t class_number) {
        calls::ObjectFunction one;
        one.role = role;
        one.class_number = class_number;
        all.push_back(one);
    };
    add(ObjectRole::Create, 0);
    add(ObjectRole::Use, 0);
    add(ObjectRole::Release, 0);
    add(ObjectRole::Create, 1);
    add(ObjectRole::Release, 1);
    add(ObjectRole::Release, 1);  // of the allocator
    return all;
}

std::set<std::uint32_t> with(std::set<std::uint32_t> numbers) {
    return with_whole_classes(std::move(numbers), functions(), 5);
}

TEST(WholeClasses, LoseTheirCreationsAndReleasesTogether) {
    EXPECT_THAT(with({0}), ElementsAre(0, 2));
    EXPECT_THAT(with({2, 3}), ElementsAre(0, 2, 3, 4));
    EXPECT_THAT(with({}), ElementsAre());
}

TEST(WholeClasses, StayWithoutAUse) { EXPECT_THAT(with({1}), ElementsAre(1)); }

TEST(WholeClasses, AreNotThoseOfTheAllocator) { EXPECT_THAT(with({5}), ElementsAre(5)); }

}  // namespace
}  // namespace lagtrap::daemon::whole_classes_test
