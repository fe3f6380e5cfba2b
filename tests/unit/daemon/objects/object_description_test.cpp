#include "daemon/objects/object_description.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::object_description_test {
namespace {

using calls::ObjectRole;

calls::ObjectFunctions functions(const char* pattern, std::optional<unsigned> argument) {
    calls::ObjectFunctions named;
    named.pattern = pattern;
    if (argument) named.object.argument = *argument;
    return named;
}

calls::ObjectRule rule() {
    calls::ObjectRule rule;
    rule.create = {functions("cart_new*", std::nullopt)};
    rule.release = {functions("cart_free", 0)};
    rule.use = {functions("cart_*", 1)};
    rule.message = {functions("cart_error", 0)};
    rule.create_failure = calls::Failure::Null;
    rule.use_failure = calls::Failure::MinusOne;
    rule.release_failure = calls::Failure::Never;
    rule.title = 2;
    return rule;
}

TEST(ObjectDescription, HasTheFirstRoleThatFits) {
    EXPECT_EQ(described_by(rule(), "cart_new_big")->role, LAGTRAP_OBJECT_CREATE);
    EXPECT_EQ(described_by(rule(), "cart_free")->role, LAGTRAP_OBJECT_RELEASE);
    EXPECT_EQ(described_by(rule(), "cart_error")->role, LAGTRAP_OBJECT_USE);
    EXPECT_FALSE(described_by(rule(), "shop_new"));
}

TEST(ObjectDescription, SaysWhereTheObjectIs) {
    const auto created = described_by(rule(), "cart_new");
    EXPECT_EQ(created->object_from, LAGTRAP_FROM_RESULT);
    EXPECT_EQ(created->title_from, 2) << "rdx has the third argument";
    const auto used = described_by(rule(), "cart_add");
    EXPECT_EQ(used->object_from, 6) << "rsi has the second argument";
    EXPECT_EQ(used->title_from, LAGTRAP_FROM_NOWHERE);
    EXPECT_EQ(used->is_method, 0);
    const auto method = described_method(ObjectRole::Use);
    EXPECT_EQ(method.object_from, 7) << "rdi has this";
    EXPECT_EQ(method.is_method, 1);
    EXPECT_EQ(method.title_from, LAGTRAP_FROM_NOWHERE);
}

TEST(ObjectDescription, SaysWhenACallFailed) {
    calls::ObjectRule own = rule();
    own.excepts = {11};
    own.successes = {5, 6};
    EXPECT_EQ(described_by(own, "cart_new")->failure, LAGTRAP_FAILS_NULL);
    EXPECT_EQ(described_by(own, "cart_new")->except[0], 0) << "these are values of errno";
    const auto used = described_by(own, "cart_add");
    EXPECT_EQ(used->failure, LAGTRAP_FAILS_MINUS_ONE);
    EXPECT_EQ(used->except[0], 11);
    EXPECT_EQ(used->successes, 2);
    EXPECT_EQ(used->success[1], 6);
    own.use.front().failure = calls::Failure::Nonzero;
    EXPECT_EQ(described_by(own, "cart_add")->failure, LAGTRAP_FAILS_NONZERO);
}

TEST(ObjectDescription, NeedsTheResultForTheObjectOrTheFailure) {
    EXPECT_TRUE(needs_result(*described_by(rule(), "cart_new")));
    EXPECT_TRUE(needs_result(*described_by(rule(), "cart_add")));
    EXPECT_FALSE(needs_result(*described_by(rule(), "cart_free")));
    EXPECT_FALSE(needs_result(described_method(ObjectRole::Release)));
    lagtrap_object_function message = described_method(ObjectRole::Message);
    EXPECT_TRUE(needs_result(message));
}

}  // namespace
}  // namespace lagtrap::daemon::object_description_test
