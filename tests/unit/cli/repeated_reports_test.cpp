#include "cli/why/repeated_reports.hpp"

#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "cli/console/interrupt.hpp"

namespace lagtrap::cli::repeated_reports_test {
namespace {

class RepeatedReports : public testing::Test {
  protected:
    RepeatedReports() { interrupted = 0; }
    ~RepeatedReports() override { interrupted = 0; }
    // Makes these reports; an interrupt comes while the one after the last is made.
    int repeat(std::vector<std::string> reports, bool terminal = false) {
        Console console{out_, err_, Paint(false), 80, terminal};
        const auto make = [&](bool first) -> Result<std::string> {
            steps_ += first ? "r" : "fr";
            if (steps_.size() == fails_at_) return make_error(ErrorKind::NotFound, "it is gone");
            if (made_ == reports.size()) {
                interrupted = 1;
                return make_error(ErrorKind::Vanished, "interrupted");
            }
            return reports[made_++];
        };
        return repeat_reports(make, console);
    }
    std::ostringstream out_, err_;
    std::string steps_;
    std::size_t made_ = 0;
    std::size_t fails_at_ = 0;
};

TEST_F(RepeatedReports, ComeUntilAnInterrupt) {
    EXPECT_EQ(repeat({"a\n", "b\n"}), exit_done);
    EXPECT_EQ(steps_, "rfrfr") << "the processes are found again before each but the first";
    EXPECT_EQ(out_.str(), "a\n\nb\n\n");
    EXPECT_EQ(err_.str(), "");
}

TEST_F(RepeatedReports, ReplaceEachOtherOnATerminal) {
    EXPECT_EQ(repeat({"a\n", "b\n"}, true), exit_done);
    EXPECT_EQ(out_.str(), "\x1b[H\x1b[2Ja\n\x1b[H\x1b[2Jb\n");
}

TEST_F(RepeatedReports, EndWhenNoProcessIsLeft) {
    fails_at_ = 5;
    EXPECT_EQ(repeat({"a\n", "b\n", "c\n"}), exit_failed);
    EXPECT_EQ(steps_, "rfrfr");
    EXPECT_EQ(out_.str(), "a\n\nb\n\n");
    EXPECT_EQ(err_.str(), "lagtrap: it is gone\n");
}

TEST_F(RepeatedReports, NoneIsMadeAfterAnInterrupt) {
    interrupted = 1;
    EXPECT_EQ(repeat({"a\n"}), exit_done);
    EXPECT_EQ(steps_, "");
}

}  // namespace
}  // namespace lagtrap::cli::repeated_reports_test
