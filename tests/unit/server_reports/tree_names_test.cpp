#include "server/reports/tree_names.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::server::reports::tree_names_test {
namespace {

analysis::ProfileFrame frame_of(const std::string& function, bool kernel = false) {
    analysis::ProfileFrame frame;
    frame.function = function;
    frame.module = "/usr/bin/app";
    frame.kernel = kernel;
    return frame;
}

TEST(TreeNames, HaveANumberForEachFunctionModuleAndKind) {
    TreeNames names;
    const auto number = names.number_of("parse", "app", NameKind::Function);
    EXPECT_EQ(number, 1U);
    EXPECT_EQ(names.number_of("parse", "app", NameKind::Function), number);
    EXPECT_EQ(names.number_of("parse", "lib", NameKind::Function), 2U);
    EXPECT_EQ(names.number_of("parse", "app", NameKind::Blocked), 3U);
    EXPECT_EQ(names.number_of(frame_of("parse")), number) << "by the module's file name";
    ASSERT_EQ(names.all().size(), 4U);
    EXPECT_EQ(names.all()[0].frame.function, "");
    EXPECT_EQ(names.all()[2].frame.module, "lib");
    EXPECT_EQ(names.all()[3].kind, NameKind::Blocked);
}

TEST(TreeNames, KernelFunctionsAreMarkedAndPlumbingBelongsToItsCaller) {
    TreeNames names;
    const auto read = names.number_of(frame_of("vfs_read_slowly", true));
    ASSERT_TRUE(read);
    EXPECT_TRUE(names.all()[*read].of_kernel);
    EXPECT_EQ(names.number_of(frame_of("entry_SYSCALL_64_after_hwframe", true)),
              TreeNames::part_of_caller);
    EXPECT_EQ(names.all().size(), 2U);
}

TEST(TreeNames, NewOnesBeyondTheLimitShareOne) {
    TreeNames names;
    const auto early = names.number_of(frame_of("early"));
    (void)names.number_of(std::string(TreeNames::bytes_limit, 'a'), "", NameKind::Function);
    EXPECT_EQ(names.number_of(frame_of("early")), early);
    EXPECT_FALSE(names.number_of(frame_of("late")));
    const auto other = names.number_of("late", "app", NameKind::Function);
    EXPECT_EQ(names.all()[other].frame.function, "[other]");
    EXPECT_EQ(names.all()[other].frame.module, "");
    EXPECT_EQ(names.number_of("later", "lib", NameKind::Function), other);
}

TEST(TreeTexts, NewThreadsBeyondTheLimitAreUnknown) {
    TreeTexts texts;
    EXPECT_EQ(texts.number_of(""), 0U);
    EXPECT_EQ(texts.number_of_thread("worker"), 1U);
    EXPECT_EQ(texts.number_of("web-1"), 2U);
    EXPECT_EQ(texts.number_of("worker"), 1U);
    const std::string rest(TreeTexts::threads_limit_bytes - 6, 'a');
    EXPECT_EQ(texts.number_of_thread(rest), 3U) << "the limit itself";
    EXPECT_EQ(texts.number_of_thread("b"), 0U);
    EXPECT_EQ(texts.number_of_thread("worker"), 1U);
    EXPECT_EQ(texts.number_of("b"), 4U) << "not a thread";
    EXPECT_EQ(texts.number_of_thread("b"), 4U);
    EXPECT_EQ(texts.all().size(), 5U);
}

}  // namespace
}  // namespace lagtrap::server::reports::tree_names_test
