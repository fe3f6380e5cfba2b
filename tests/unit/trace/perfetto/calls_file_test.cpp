#include "trace/perfetto/calls_file.hpp"

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/merge_fixture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/perfetto/call_slices.hpp"

namespace lagtrap::trace::calls_file_test {
namespace {

class CallsOfAProgram : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "calls.pftrace"; }
    [[nodiscard]] std::string content() const {
        const auto content = read_file(path(), 1 << 20);
        return content ? *content : "none";
    }
    [[nodiscard]] std::ptrdiff_t files() const {
        return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
    }

    TemporaryDirectory folder_;
};

TEST_F(CallsOfAProgram, AFinishedFileReplacesTheOlderOne) {
    ASSERT_TRUE(write_file_durably(path(), "older"));
    {
        auto file = CallsFile::create(path(), "calls");
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(content(), "older");
        ASSERT_TRUE(file->finish());
    }
    EXPECT_NE(content(), "older");
    EXPECT_EQ(files(), 1);
}

TEST_F(CallsOfAProgram, AnUnfinishedFileIsRemovedAndTheOlderOneStays) {
    ASSERT_TRUE(write_file_durably(path(), "older"));
    {
        const auto file = CallsFile::create(path(), "calls");
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(files(), 2);
    }
    EXPECT_EQ(content(), "older");
    EXPECT_EQ(files(), 1);
}

TEST_F(CallsOfAProgram, TheFileHasItsClocksAndCalls) {
    calls::Function function;
    function.name = "work";
    calls::Call call;
    call.end_ns = 30;
    calls::Tree tree;
    tree.tid = 101;
    tree.thread = "worker";
    tree.began_monotonic_ns = 50;
    tree.calls = {call};
    auto file = CallsFile::create(path(), "calls of work");
    ASSERT_TRUE(file) << file.error().message;
    file->add_functions({function});
    EXPECT_TRUE(file->add(tree, {{30, 30, 0, 0, 30}}, 100, "server"));
    calls::Tree most = tree;
    most.calls.assign(call_slices_limit, call);
    EXPECT_FALSE(file->add(most, std::vector<calls::Times>(most.calls.size()), 100, "server"));
    EXPECT_EQ(file->trees(), 1U);
    EXPECT_EQ(file->left_out(), 1U);
    ASSERT_TRUE(file->finish());
    EXPECT_EQ(file->size_bytes(), std::filesystem::file_size(path()));
    const json::object found = decoded(path());
    const json::array& slices = found.at("calls").as_array();
    ASSERT_EQ(slices.size(), 1U);
    EXPECT_EQ(text(slices[0].at("name")), "work");
    EXPECT_EQ(slices[0].at("length_ns").as_int64(), 30) << "its end is written, too";
    const auto clock = [&](const char* name) {
        return found.at("attributes").as_object().at(name).to_number<std::uint64_t>();
    };
    const std::uint64_t offset_ns =
        clock("lagtrap.clock.boottime_ns") - clock("lagtrap.clock.monotonic_ns");
    EXPECT_EQ(slices[0].at("begin_ns").to_number<std::uint64_t>(), offset_ns + 50);
    EXPECT_EQ(found.at("clocks").as_object().at("6").to_number<std::uint64_t>(),
              clock("lagtrap.clock.boottime_ns"));
    EXPECT_GT(clock("lagtrap.clock.realtime_ns"), 1'600'000'000'000'000'000U);
    EXPECT_LT(clock("lagtrap.clock.monotonic_ns"), 1'600'000'000'000'000'000U);
    const Output printed = output_of(test_python() + " " + test_data_folder() +
                                     "/trace/print_packets.py '" + path().string() + "'");
    EXPECT_TRUE(printed.text.starts_with("1 " + std::to_string(offset_ns + 50) + " "))
        << "the first packet is no later than the first call";
    EXPECT_NE(printed.text.find("'calls of work'"), std::string::npos);
}

TEST_F(CallsOfAProgram, AFileThatCannotBeCreatedIsAnError) {
    EXPECT_FALSE(CallsFile::create(folder_.path() / "missing" / "calls.pftrace", "calls").ok());
}

}  // namespace
}  // namespace lagtrap::trace::calls_file_test
