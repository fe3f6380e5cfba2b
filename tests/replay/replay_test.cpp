// Merges each recording of this folder and compares its reports with the files beside it
// (README.md). LAGTRAP_UPDATE_EXPECTED=1 rewrites the reports; read them before committing.
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/recording.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/reports/report_json.hpp"
#include "cli/reports/report_text.hpp"
#include "tests/replay/readable_json.hpp"
#include "tests/replay/unpacked_recording.hpp"
#include "tests/unit/test_paths.hpp"
#include "trace/merge/merge.hpp"

namespace lagtrap::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* archive_suffix = ".capture.tar.zst";
constexpr std::size_t columns = 100;
constexpr std::size_t shown_lines = 12;  // from the first difference

fs::path folder() { return fs::path(source_folder()) / "tests/replay"; }

std::vector<std::string> recording_names() {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder())) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(archive_suffix))
            names.push_back(name.substr(0, name.size() - std::strlen(archive_suffix)));
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string content_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream rest(text);
    for (std::string line; std::getline(rest, line);) lines.push_back(line);
    return lines;
}

// The first different lines: "-" from the file, "+" from the current result.
std::string difference(const std::string& expected, const std::string& said) {
    const auto before = lines_of(expected);
    const auto now = lines_of(said);
    const auto [at_before, at_now] =
        std::mismatch(before.begin(), before.end(), now.begin(), now.end());
    std::string text = "from line " + std::to_string(at_before - before.begin() + 1) + " on:\n";
    const auto show = [&](const char* sign, auto at, auto end) {
        for (std::size_t shown = 0; at != end && shown < shown_lines; ++at, ++shown)
            text += sign + *at + "\n";
    };
    show("- ", at_before, before.end());
    show("+ ", at_now, now.end());
    return text;
}

void expect_said(const std::string& said, const std::string& name) {
    const fs::path path = folder() / name;
    if (::getenv("LAGTRAP_UPDATE_EXPECTED") != nullptr)
        std::ofstream(path, std::ios::binary) << said;
    const std::string expected = content_of(path);
    if (said != expected)
        ADD_FAILURE() << "tests/replay/" << name << " differs " << difference(expected, said);
}

class Replay : public testing::TestWithParam<std::string> {
  protected:
    static void SetUpTestSuite() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }
};

TEST_P(Replay, SaysWhatItSaid) {
    const UnpackedRecording unpacked(folder() / (GetParam() + archive_suffix));
    const auto merged = trace::merge_capture(unpacked.capture(), unpacked.merge_options());
    ASSERT_TRUE(merged) << merged.error().message;
    const auto recording = analysis::read_recording(unpacked.capture());
    ASSERT_TRUE(recording) << recording.error().message;
    expect_said(cli::report_text(*recording, {}, {cli::Paint(false), columns, false}),
                GetParam() + ".report.txt");
    expect_said(readable_json(cli::report_json(*recording, {})), GetParam() + ".report.json");
    const auto narrow =
        cli::report_text(*recording, {}, {cli::Paint(false), cli::screen_width, false});
    for (const std::string& line : lines_of(narrow))
        EXPECT_LE(cli::width_of(line), cli::screen_width) << line;
}

INSTANTIATE_TEST_SUITE_P(Recordings, Replay, testing::ValuesIn(recording_names()),
                         [](const auto& recording) { return recording.param; });

// A report without its recording would never be compared.
TEST(ReplayFolder, HasARecordingToEachReport) {
    const auto names = recording_names();
    ASSERT_FALSE(names.empty());
    for (const fs::directory_entry& entry : fs::directory_iterator(folder())) {
        const std::string file = entry.path().filename().string();
        const std::size_t end = file.find(".report.");
        if (end == std::string::npos) continue;
        EXPECT_TRUE(std::binary_search(names.begin(), names.end(), file.substr(0, end))) << file;
    }
}

}  // namespace
}  // namespace lagtrap::test
