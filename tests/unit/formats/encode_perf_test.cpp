#include <gtest/gtest.h>

#include "formats/encoders.hpp"
#include "tests/unit/formats/made_profile.hpp"

namespace lagtrap::formats::encode_perf_test {
namespace {

using analysis::TimeKind;
using test::made_profile;
using test::piece_of;
using test::thread_of;

TEST(PerfScript, HasABlockForEachPiece) {
    StackProfile profile = made_profile(
        {{.function = "main", .module = "/usr/bin/app", .offset = 0x1234abcd},
         {.function = "[libz.so]"},
         {.function = "copy", .module = "/lib/modules/ext4.ko", .offset = 1, .kernel = true}});
    profile.boottime_ns = 5'000'001'000;
    Piece piece = piece_of(2'000'999, 30, 3);
    piece.cpu = 7;
    piece.weight_ns = 40;
    profile.threads = {thread_of(10, 11, "app", "worker", {piece})};
    EXPECT_EQ(encode_perf(profile),
              "worker 10/11 [007] 5.002001: 40 cpu-clock: \n"
              "\t               1 copy ([kernel.kallsyms])\n"
              "\t               0 [libz.so] ([unknown])\n"
              "\t        1234abcd main (/usr/bin/app)\n"
              "\n");
}

// The first line of each block.
std::vector<std::string> lines_of(const StackProfile& profile) {
    std::vector<std::string> lines;
    const std::string text = encode_perf(profile);
    for (std::size_t at = 0; at < text.size();) {
        lines.push_back(text.substr(at, text.find('\n', at) - at));
        at = text.find("\n\n", at);
        at = at == std::string::npos ? text.size() : at + 2;
    }
    return lines;
}

TEST(PerfScript, IsOrderedByTimeAcrossThreads) {
    StackProfile profile = made_profile({{.function = "main"}});
    profile.threads = {
        thread_of(10, 11, "app", "first", {piece_of(0, 5, 1), piece_of(2'000'000, 5, 1)}),
        thread_of(10, 12, "app", "second", {piece_of(1'000'000, 5, 1), piece_of(2'000'000, 5, 1)})};
    profile.threads[1].pieces[0].cpu = 100;
    EXPECT_EQ(lines_of(profile), (std::vector<std::string>{
                                     "first 10/11 [000] 0.000000: 5 cpu-clock: ",
                                     "second 10/12 [100] 0.001000: 5 cpu-clock: ",
                                     "first 10/11 [000] 0.002000: 5 cpu-clock: ",
                                     "second 10/12 [000] 0.002000: 5 cpu-clock: ",
                                 }));
}

TEST(PerfScript, TellsTimeOffACpuAndLeavesOutWhatWeighsNothing) {
    StackProfile profile = made_profile({{.function = "main"}});
    profile.threads = {thread_of(10, 11, "app", "worker", {piece_of(0, 5, 1)})};
    Piece& piece = profile.threads[0].pieces[0];
    for (const TimeKind kind : {TimeKind::Runnable, TimeKind::Blocked, TimeKind::Unknown}) {
        piece.kind = kind;
        EXPECT_EQ(lines_of(profile).at(0), "worker 10/11 [000] 0.000000: 5 off-cpu: ");
    }
    piece.weight_ns = 0;
    EXPECT_EQ(encode_perf(profile), "");
}

}  // namespace
}  // namespace lagtrap::formats::encode_perf_test
