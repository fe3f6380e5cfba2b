#include "formats/profile_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::formats::profile_maker_test {
namespace {

using analysis::TimeKind;
using testing::ElementsAre;

Piece piece_of(TimeKind kind, std::uint64_t weight_ns, std::uint32_t stack = 0,
               std::uint32_t reason = 0) {
    Piece piece;
    piece.kind = kind;
    piece.length_ns = weight_ns * 10;
    piece.weight_ns = weight_ns;
    piece.stack = stack;
    piece.reason = reason;
    return piece;
}

ProfiledThread thread_of(const std::string& name, std::vector<Piece> pieces) {
    ProfiledThread thread;
    thread.name = name;
    thread.pieces = std::move(pieces);
    return thread;
}

std::vector<std::string> names_of(const StackProfile& profile) {
    std::vector<std::string> names;
    for (const ProfiledThread& thread : profile.threads) names.push_back(thread.name);
    return names;
}

TEST(ProfileMaker, StoresCallsAndTextsOnce) {
    StackProfile profile;
    ProfileMaker maker(profile);
    Place main;
    main.function = "main";
    Place work;
    work.function = "work";
    EXPECT_EQ(maker.add_place(main), 0U);
    EXPECT_EQ(maker.add_place(work), 1U);
    EXPECT_EQ(maker.child(0, 0), 1U);
    EXPECT_EQ(maker.child(1, 1), 2U);
    EXPECT_EQ(maker.child(0, 1), 3U);  // the same place below another call
    EXPECT_EQ(maker.child(1, 1), 2U);
    EXPECT_EQ(maker.child(1, 0), 4U);
    EXPECT_EQ(maker.child(0, 0), 1U);
    EXPECT_EQ(profile.nodes.size(), 5U);
    EXPECT_EQ(profile.nodes[2].parent, 1U);
    EXPECT_EQ(profile.nodes[2].place, 1U);
    EXPECT_THAT(profile.path_of(2), ElementsAre(1, 2));
    EXPECT_THAT(profile.path_of(0), ElementsAre());
    EXPECT_EQ(maker.text(""), 0U);
    EXPECT_EQ(maker.text("disk"), 1U);
    EXPECT_EQ(maker.text("lock"), 2U);
    EXPECT_EQ(maker.text("disk"), 1U);
    EXPECT_THAT(profile.texts, ElementsAre("", "disk", "lock"));
}

TEST(ProfileMaker, TheLeafNamesTheState) {
    StackProfile profile;
    ProfileMaker maker(profile);
    Place main;
    main.function = "main";
    const std::uint32_t stack = maker.child(0, maker.add_place(main));
    const std::uint32_t disk = maker.text("disk");
    const auto leaf_of = [&](Piece piece) {
        maker.set_leaf(piece);
        return piece.leaf;
    };
    const auto words_of = [&](const Piece& piece) {
        const StackNode& node = profile.nodes.at(leaf_of(piece));
        EXPECT_EQ(node.parent, piece.stack);
        EXPECT_TRUE(profile.places.at(node.place).state);
        return profile.places.at(node.place).function;
    };
    EXPECT_EQ(leaf_of(piece_of(TimeKind::OnCpu, 1, stack)), stack);
    EXPECT_EQ(profile.places.size(), 1U);
    EXPECT_EQ(words_of(piece_of(TimeKind::OnCpu, 1)), "on CPU, not sampled");
    EXPECT_EQ(words_of(piece_of(TimeKind::Runnable, 1, stack)), "waits for a CPU");
    EXPECT_EQ(words_of(piece_of(TimeKind::Blocked, 1, stack, disk)), "blocked: disk");
    EXPECT_EQ(words_of(piece_of(TimeKind::Unknown, 1, 0, disk)), "unknown: disk");
    EXPECT_EQ(profile.places.size(), 5U);
    // A state is one place, whatever is above it.
    const std::uint32_t below_nothing = leaf_of(piece_of(TimeKind::Blocked, 1, 0, disk));
    const std::uint32_t below_main = leaf_of(piece_of(TimeKind::Blocked, 1, stack, disk));
    EXPECT_NE(below_nothing, below_main);
    EXPECT_EQ(profile.nodes[below_nothing].place, profile.nodes[below_main].place);
    EXPECT_EQ(profile.places.size(), 5U);
    EXPECT_EQ(state_words(profile, piece_of(TimeKind::OnCpu, 1)), "on CPU");
}

StackProfile three_threads() {
    StackProfile profile;
    profile.threads = {
        thread_of("sleeper", {piece_of(TimeKind::Blocked, 100), piece_of(TimeKind::Runnable, 1)}),
        thread_of("unknown", {piece_of(TimeKind::Unknown, 50)}),
        thread_of("worker", {piece_of(TimeKind::OnCpu, 2), piece_of(TimeKind::OnCpu, 3)}),
        thread_of("other", {piece_of(TimeKind::OnCpu, 5), piece_of(TimeKind::Blocked, 1)})};
    return profile;
}

TEST(ProfileMaker, SortsThreadsByTimeOnACpuThenByWeight) {
    StackProfile profile = three_threads();
    EXPECT_EQ(profile.weight_ns(), 162U);
    EXPECT_EQ(profile.threads[0].weight_ns(), 101U);
    ProfileMaker(profile).finish(TimeChoice::All);
    EXPECT_THAT(names_of(profile), ElementsAre("other", "worker", "sleeper", "unknown"));
    EXPECT_EQ(profile.time, TimeChoice::All);
    EXPECT_EQ(profile.weight_ns(), 162U);
}

TEST(ProfileMaker, KeepsTheChosenTime) {
    StackProfile on_cpu = three_threads();
    ProfileMaker(on_cpu).finish(TimeChoice::OnCpu);
    EXPECT_EQ(on_cpu.time, TimeChoice::OnCpu);
    EXPECT_THAT(names_of(on_cpu), ElementsAre("worker", "other"));  // alike: as before
    EXPECT_EQ(on_cpu.weight_ns(), 10U);
    StackProfile off_cpu = three_threads();
    ProfileMaker(off_cpu).finish(TimeChoice::OffCpu);
    EXPECT_EQ(off_cpu.time, TimeChoice::OffCpu);
    EXPECT_THAT(names_of(off_cpu), ElementsAre("sleeper", "other"));
    EXPECT_EQ(off_cpu.weight_ns(), 102U);
}

}  // namespace
}  // namespace lagtrap::formats::profile_maker_test
