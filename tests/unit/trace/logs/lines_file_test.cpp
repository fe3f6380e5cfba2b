#include "trace/logs/lines_file.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::lines_file_test {
namespace {

std::string lines_in(const std::filesystem::path& folder, const LinesFile& kind,
                     std::size_t most = 100) {
    std::string all;
    const Status read = read_lines(folder, kind, [&](const std::string& line) {
        all += "[" + line + "]";
        return --most > 0;
    });
    return read ? all : read.error().message;
}

TEST(LinesFile, IsReadLineByLine) {
    const TemporaryDirectory folder;
    LinesFile kind = calls_lines;
    kind.limit_bytes = 4;
    kind.last_line_bytes = 6;
    const auto path = folder.path() / kind.name;
    std::ofstream(path) << "a\n\nbc\ntorn";
    EXPECT_EQ(lines_in(folder.path(), kind), "[a][][bc]") << "the last line is not whole";
    EXPECT_EQ(lines_in(folder.path(), kind, 2), "[a][]") << "until it is enough";
    std::ofstream(path, std::ios::app) << "x";
    EXPECT_EQ(lines_in(folder.path(), kind), path.string() + ": larger than 10 bytes");
}

}  // namespace
}  // namespace lagtrap::trace::lines_file_test
