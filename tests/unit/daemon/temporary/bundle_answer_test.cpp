#include "daemon/temporary/bundle_answer.hpp"

#include <fstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::daemon::bundle_answer_test {
namespace {

TEST(BundleAnswer, HasTheLastBundleOpened) {
    const trace::TemporaryDirectory folder;
    LastBundle last;
    last.path = folder.path() / "bundle";
    last.session = "s-1";
    const auto missing = bundle_answer(last);
    EXPECT_EQ(missing.object.at("ok"), false);
    EXPECT_FALSE(missing.file.valid());
    std::ofstream(last.path) << "content";
    const auto answer = bundle_answer(last);
    EXPECT_EQ(answer.object, (boost::json::object{{"ok", true}, {"session", "s-1"}}));
    ASSERT_TRUE(answer.file.valid());
    EXPECT_EQ(read_all(answer.file.get(), 100).value(), "content");
}

TEST(BundleAnswer, RefusesWhereNothingWasRecorded) {
    const auto answer = bundle_answer(std::nullopt);
    EXPECT_EQ(answer.object.at("ok"), false);
    EXPECT_EQ(answer.object.at("error"), "nothing was recorded yet");
    EXPECT_FALSE(answer.file.valid());
}

}  // namespace
}  // namespace lagtrap::daemon::bundle_answer_test
