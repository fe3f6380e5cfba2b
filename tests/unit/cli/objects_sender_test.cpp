#include "cli/objects/objects_sender.hpp"

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::objects_sender_test {
namespace {

namespace fs = std::filesystem;

class ObjectsSenderTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(spool::Spool::create(folder_.path()));
        auto opened = ObjectsSender::open(folder_.path(), 7, "shop");
        ASSERT_TRUE(opened) << opened.error().message;
        sender_.emplace(std::move(opened).value());
    }
    void add(const std::string& line, std::chrono::milliseconds after = ObjectsSender::part_time) {
        EXPECT_TRUE(sender_->add(line, now_ += after));
    }
    // By number.
    std::map<std::uint32_t, trace::ObjectsPart> parts() const {
        std::map<std::uint32_t, trace::ObjectsPart> found;
        for (const auto& entry : fs::directory_iterator(folder_.path() / "ready")) {
            if (!spool::parse_entry_name(entry.path().filename().string())) continue;
            const auto bytes = read_file(entry.path(), trace::run_batch_limit_bytes);
            EXPECT_TRUE(bytes);
            const auto batch = trace::read_run_batch(*bytes);
            EXPECT_TRUE(batch) << batch.error().message;
            EXPECT_TRUE(batch->runs.empty());
            found[batch->objects->number] = *batch->objects;
        }
        return found;
    }
    void take_away() const {
        for (const auto& entry : fs::directory_iterator(folder_.path() / "ready"))
            fs::remove(entry.path());
    }

    test::TemporaryFolder folder_;
    std::optional<ObjectsSender> sender_;
    ObjectsSender::Clock::time_point now_ = ObjectsSender::Clock::now();
};

TEST_F(ObjectsSenderTest, TheFirstLineGoesAtOnceAndTheOthersTogether) {
    add("{\"started\":1}", std::chrono::milliseconds(1));
    add("{\"a\":1}", std::chrono::milliseconds(1));
    add("{\"a\":2}", std::chrono::milliseconds(1));
    EXPECT_EQ(parts().size(), 1U);
    add("{\"a\":3}");
    ASSERT_TRUE(sender_->end());
    const auto all = parts();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all.at(1).lines, "{\"started\":1}\n");
    EXPECT_EQ(all.at(2).lines, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    EXPECT_FALSE(all.at(2).last);
    EXPECT_TRUE(all.at(3).last);
    EXPECT_EQ(all.at(3).watch_id, sender_->watch_id());
    EXPECT_EQ(all.at(3).process, "shop");
    EXPECT_EQ(all.at(3).pid, 7U);
}

TEST_F(ObjectsSenderTest, APartThatIsLargeEnoughGoesBeforeItsTime) {
    add("{}");
    add("{\"a\":1}", std::chrono::milliseconds(1));
    EXPECT_EQ(parts().size(), 1U);
    add("{\"" + std::string(ObjectsSender::part_bytes, 'a') + "\":1}",
        std::chrono::milliseconds(1));
    EXPECT_EQ(parts().size(), 2U);
}

TEST_F(ObjectsSenderTest, WhatNobodyTakesIsBoundedAndCounted) {
    for (std::size_t i = 0; i < ObjectsSender::max_waiting + 5; ++i) add("{}");
    EXPECT_EQ(parts().size(), ObjectsSender::max_waiting);
    EXPECT_EQ(sender_->lost_lines(), 5U);
    take_away();
    add("{\"again\":1}");
    const auto all = parts();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.begin()->first, ObjectsSender::max_waiting + 1) << "what was lost is no part";
    EXPECT_EQ(all.begin()->second.lost_lines, 5U);
    EXPECT_EQ(sender_->lost_lines(), 5U);
}

TEST_F(ObjectsSenderTest, LinesThatAreTooLargeTogetherGoInTwoPartsAndOneAloneIsLost) {
    add("{}");
    // Without a pattern, so that they do not compress.
    auto noise = [state = std::uint32_t{1}](std::size_t bytes) mutable {
        std::string text;
        while (text.size() < bytes) {
            state = state * 1664525 + 1013904223;
            text += static_cast<char>('a' + (state >> 24) % 26);
        }
        return "{\"" + text + "\":1}";
    };
    const std::string one = noise(1 << 20), another = noise(1 << 20);
    add(one, std::chrono::milliseconds(1));
    add(another, std::chrono::milliseconds(1));
    add(noise(9 << 20), std::chrono::milliseconds(1));
    ASSERT_TRUE(sender_->end());
    std::string lines;
    for (const auto& [number, part] : parts()) lines += part.lines;
    EXPECT_EQ(lines, "{}\n" + one + "\n" + another + "\n");
    EXPECT_EQ(sender_->lost_lines(), 1U);
    EXPECT_EQ(parts().rbegin()->second.lost_lines, 1U);
}

TEST_F(ObjectsSenderTest, ASpoolThatIsNotThereIsSaid) {
    const auto opened = ObjectsSender::open("/nowhere/spool", 1, "x");
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("/nowhere/spool"), std::string::npos)
        << opened.error().message;
}

}  // namespace
}  // namespace lagtrap::cli::objects_sender_test
