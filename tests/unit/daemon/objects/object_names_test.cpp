#include "daemon/objects/object_names.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::object_names_test {
namespace {

using calls::ObjectRole;

void expect_member(const char* name, const char* class_name, ObjectRole role) {
    const auto found = member_name(name);
    ASSERT_TRUE(found.has_value()) << name;
    EXPECT_EQ(found->class_name, class_name) << name;
    EXPECT_EQ(found->role, role) << name;
}

TEST(ObjectNamesTest, MembersHaveAClassAndARole) {
    expect_member("Item::Item", "Item", ObjectRole::Create);
    expect_member("ns::Item::~Item", "ns::Item", ObjectRole::Release);
    expect_member("ns::Item::price", "ns::Item", ObjectRole::Use);
    expect_member("ns::Box<int>::Box", "ns::Box<int>", ObjectRole::Create);
    expect_member("ns::Box<std::pair<int, long> >::~Box", "ns::Box<std::pair<int, long> >",
                  ObjectRole::Release);
    expect_member("ns::Box<int>::Inner::Inner", "ns::Box<int>::Inner", ObjectRole::Create);
    expect_member("Item::operator<", "Item", ObjectRole::Use);
    expect_member("Item::operator->", "Item", ObjectRole::Use);
    expect_member("(anonymous namespace)::Item::Item", "(anonymous namespace)::Item",
                  ObjectRole::Create);
    expect_member("int ns::Box<int>::get<long>", "ns::Box<int>", ObjectRole::Use);
}

TEST(ObjectNamesTest, OthersHaveNoObject) {
    for (const char* name :
         {"main", "", "::", "non-virtual thunk to ns::Item::price",
          "ns::Item::price()::{lambda()#1}::operator()", "guard variable for ns::Item::instance",
          "ns::Item::price [clone .cold]"})
        EXPECT_FALSE(member_name(name).has_value()) << name;
}

}  // namespace
}  // namespace lagtrap::daemon::object_names_test
