#include "trace/logs/record_stream.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::record_stream_test {
namespace {

class RecordStreamTest : public testing::Test {
  protected:
    // A log of samples with these times; their thread is their place in it.
    void write(const std::vector<std::uint64_t>& times) {
        auto writer = LogWriter::create(folder_.path(), LogKind::Kernel,
                                        "0f8fad5b-d9cb-469f-a165-70867728950e", {});
        ASSERT_TRUE(writer.ok());
        for (std::size_t place = 0; place < times.size(); ++place) {
            lagtrap_sample sample{};
            sample.header = {sizeof(sample), LAGTRAP_RECORD_SAMPLE, 0, times[place]};
            sample.tid = static_cast<std::uint32_t>(place);
            ASSERT_TRUE(writer->append(&sample.header));
            lagtrap_name name{};
            name.header = {sizeof(name), LAGTRAP_RECORD_NAME, 0, times[place]};
            ASSERT_TRUE(writer->append(&name.header));
        }
        ASSERT_TRUE(writer->flush());
    }
    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "kernel.log"; }
    // "time(place) ..." of the samples.
    static std::string read(RecordStream& stream) {
        std::string all;
        for (;;) {
            const auto record = stream.peek();
            if (!record || *record == nullptr) return all;
            EXPECT_EQ(*stream.peek(), *record) << "it stays until it is taken";
            if ((*record)->type == LAGTRAP_RECORD_SAMPLE)
                all += std::to_string((*record)->at_ns) + "(" +
                       std::to_string(reinterpret_cast<const lagtrap_sample*>(*record)->tid) + ") ";
            else
                all += "name ";
            stream.pop();
        }
    }

    TemporaryDirectory folder_;
};

TEST_F(RecordStreamTest, OrdersByTimeWithinItsWindow) {
    write({30, 10, 20, 20, 5});
    auto stream = RecordStream::open(path(), 3);
    ASSERT_TRUE(stream.ok());
    stream->leave_out(LAGTRAP_RECORD_NAME);
    EXPECT_EQ(read(*stream), "10(1) 20(2) 5(4) 20(3) 30(0) ") << "5 came too late";
    EXPECT_FALSE(stream->partial());
    auto wide = RecordStream::open(path(), 100);
    ASSERT_TRUE(wide.ok());
    wide->leave_out(LAGTRAP_RECORD_NAME);
    EXPECT_EQ(read(*wide), "5(4) 10(1) 20(2) 20(3) 30(0) ");
}

TEST_F(RecordStreamTest, KeepsTheLogsOrderWithoutAWindow) {
    write({30, 10});
    auto stream = RecordStream::open(path(), 0);
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(read(*stream), "30(0) name 10(1) name ");
}

TEST_F(RecordStreamTest, KnowsWhetherItsLogIsWhole) {
    write({30, 10});
    std::ofstream(path(), std::ios::app | std::ios::binary) << "torn";
    auto stream = RecordStream::open(path(), 3);
    ASSERT_TRUE(stream.ok());
    stream->leave_out(LAGTRAP_RECORD_NAME);
    EXPECT_EQ(read(*stream), "10(1) 30(0) ");
    EXPECT_TRUE(stream->partial());
    RecordStream missing = RecordStream::missing();
    EXPECT_EQ(read(missing), "");
    EXPECT_TRUE(missing.partial());
    EXPECT_EQ(RecordStream::open(folder_.path() / "absent", 3).error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace lagtrap::trace::record_stream_test
