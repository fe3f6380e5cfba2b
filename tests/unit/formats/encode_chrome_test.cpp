#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/encoders.hpp"

namespace lagtrap::formats::encode_chrome_test {
namespace {

Piece piece_at(std::uint64_t begin_ns, std::uint64_t length_ns, std::uint32_t stack) {
    Piece piece;
    piece.begin_ns = begin_ns;
    piece.length_ns = piece.weight_ns = length_ns;
    piece.stack = piece.leaf = stack;
    piece.kind = analysis::TimeKind::OnCpu;
    return piece;
}

// The slices of calls: "main 0+30", in microseconds.
std::vector<std::string> slices_of(const StackProfile& profile) {
    static const std::regex slice(
        R"re("ph":"X","name":"(\w+)".*"ts":(\d+)\.000,"dur":(\d+)\.000)re");
    const std::string text = encode_chrome(profile);
    std::vector<std::string> slices;
    for (std::sregex_iterator found(text.begin(), text.end(), slice), end; found != end; ++found)
        slices.push_back((*found)[1].str() + " " + (*found)[2].str() + "+" + (*found)[3].str());
    return slices;
}

TEST(Chrome, ACallLastsAsLongAsNothingIsMissing) {
    StackProfile profile;
    profile.places = {{.function = "main"}, {.function = "work"}, {.function = "rest"}};
    profile.nodes = {{}, {0, 0}, {1, 1}, {1, 2}};
    profile.threads = {
        {10, 11, "app", "app", {piece_at(0, 10'000, 2), piece_at(10'000, 20'000, 3)}}};
    EXPECT_THAT(slices_of(profile),
                testing::UnorderedElementsAre("main 0+30", "work 0+10", "rest 10+20"));
    profile.threads[0].pieces[1].begin_ns = 15'000;
    EXPECT_THAT(slices_of(profile), testing::UnorderedElementsAre("main 0+10", "work 0+10",
                                                                  "main 15+20", "rest 15+20"));
}

}  // namespace
}  // namespace lagtrap::formats::encode_chrome_test
