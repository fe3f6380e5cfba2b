#include "daemon/capture/capture_lines.hpp"

#include <memory>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "daemon/control/control_server.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::daemon::capture_lines_test {
namespace {

class CaptureLinesTest : public ::testing::Test {
  protected:
    trace::TemporaryDirectory folder_;
    std::shared_ptr<CaptureLines> lines_ =
        *CaptureLines::create(folder_.path(), trace::calls_lines);
};

TEST_F(CaptureLinesTest, SayWhyATraceEndedWithAnError) {
    EXPECT_EQ(lines_->refusal(), "");
    lines_->end(boost::json::serialize(refusal("there is no process 7\033")));
    EXPECT_EQ(lines_->refusal().find("there is no process 7"), 0U);
    EXPECT_EQ(lines_->refusal().find('\033'), std::string::npos);
    bool finished = false;
    lines_->finish([&] { finished = true; });
    EXPECT_TRUE(finished);
}

TEST_F(CaptureLinesTest, HaveNothingToSayOfATraceThatWentWell) {
    lines_->end(R"({"ok":true,"error":"of a call"})");
    EXPECT_EQ(lines_->refusal(), "");
}

}  // namespace
}  // namespace lagtrap::daemon::capture_lines_test
