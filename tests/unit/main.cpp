// Runs the tests of one program. If none failed and some were skipped, the last line says which and
// why, and the exit code is 77, which CTest is configured to treat as skipped.
#include <iostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

constexpr int skip_exit_code = 77;

std::string skipped_of(const testing::TestSuite& suite) {
    std::string text;
    for (int i = 0; i < suite.total_test_count(); ++i) {
        const testing::TestInfo& test = *suite.GetTestInfo(i);
        if (!test.result()->Skipped()) continue;
        const std::string reason = test.result()->GetTestPartResult(0).message();
        text += std::string(suite.name()) + "." + test.name() + " (" +
                reason.substr(0, reason.find('\n')) + "); ";
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    const int status = RUN_ALL_TESTS();
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    if (status != 0 || all.skipped_test_count() == 0) return status;
    std::cout << all.skipped_test_count() << " skipped: ";
    for (int i = 0; i < all.total_test_suite_count(); ++i)
        std::cout << skipped_of(*all.GetTestSuite(i));
    std::cout << '\n';
    return skip_exit_code;
}
