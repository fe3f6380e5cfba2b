// Runs commands of `lagtrap` in this process and compares their output with files of
// tests/data/cli.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::test {

struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
};

// Without colours, as if standard output were a file.
[[nodiscard]] Outcome run_lagtrap(const std::vector<std::string>& arguments);

// Expects the text of tests/data/cli/NAME. With LAGTRAP_UPDATE_EXPECTED=1, writes the file instead.
void expect_text(const std::string& text, const std::string& name);

// A folder that is removed with the test.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] std::filesystem::path path() const { return path_; }
    [[nodiscard]] std::string string(const std::string& name) const {
        return (path_ / name).string();
    }

  private:
    std::filesystem::path path_;
};

// Makes `folder` a merged capture: trace.pftrace, system.xml, settings.xml.
void write_capture(const TraceBuilder& builder, const std::filesystem::path& folder);

}  // namespace lagtrap::test
