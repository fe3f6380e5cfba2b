#include "trace/perfetto/packet_writer.hpp"

#include <sys/stat.h>

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::packet_writer_test {
namespace {

using protozero::pbf_writer;
using testing::ElementsAre;
using testing::HasSubstr;

class PacketWriterTest : public Packets {
  protected:
    void write(Sequence sequence, std::uint64_t at_ns, UsesInterning uses = UsesInterning::No) {
        writer_.packet(sequence, at_ns, uses, [](pbf_writer&) {});
    }
};

TEST_F(PacketWriterTest, TheFirstPacketOfASequenceClearsItsState) {
    write(Sequence::Runs, 7, UsesInterning::Yes);
    write(Sequence::Runs, 8, UsesInterning::Yes);
    write(Sequence::Machine, 9);
    write(Sequence::Machine, 10);
    write(cpu_sequence(3), 11);
    writer_.begin_anew(Sequence::Runs);
    write(Sequence::Machine, 12);
    write(Sequence::Runs, 13);
    write(Sequence::Runs, 14);
    EXPECT_THAT(packets(), ElementsAre("2 7 flags=3", "2 8 flags=2", "1 9 flags=1", "1 10 ",
                                       "19 11 flags=1", "1 12 ", "2 13 flags=1", "2 14 "));
}

TEST_F(PacketWriterTest, EachKindOfPacketHasItsSequence) {
    std::uint64_t at_ns = 0;
    for (const Sequence sequence :
         {Sequence::Machine, Sequence::Runs, Sequence::Samples, Sequence::OffCpu, Sequence::History,
          Sequence::Calls, Sequence::Functions, cpu_sequence(0), cpu_sequence(65535)})
        write(sequence, ++at_ns);
    EXPECT_THAT(packets(), ElementsAre("1 1 flags=1", "2 2 flags=1", "3 3 flags=1", "4 4 flags=1",
                                       "5 5 flags=1", "6 6 flags=1", "7 7 flags=1", "16 8 flags=1",
                                       "65551 9 flags=1"));
}

TEST_F(PacketWriterTest, CountsWhatItWrote) {
    EXPECT_EQ(writer_.size_bytes(), 0U);
    const std::string text(300'000, 'x');
    for (std::uint64_t i = 0; i < 9; ++i)
        writer_.packet(Sequence::Machine, i, UsesInterning::No, [&](pbf_writer& packet) {
            pbf_writer symbols(packet, perfetto::trace_packet::module_symbols);
            symbols.add_string(perfetto::module_symbols::path, text);
        });
    // In pieces of about 1 MiB, so that a long trace does not stay in memory.
    const std::uint64_t flushed = std::filesystem::file_size(file());
    EXPECT_GT(flushed, 2U << 20);
    EXPECT_LT(flushed, 9 * text.size());
    EXPECT_GT(writer_.size_bytes(), 9 * text.size());
    ASSERT_TRUE(writer_.finish().ok());
    EXPECT_EQ(writer_.size_bytes(), std::filesystem::file_size(file()));
    EXPECT_EQ(packets("path=").size(), 9U);
}

TEST_F(PacketWriterTest, ReplacesAnEarlierFile) {
    write(Sequence::Machine, 1);
    ASSERT_TRUE(writer_.finish().ok());
    writer_ = PacketWriter::create(file()).value();
    write(Sequence::Machine, 2);
    EXPECT_THAT(packets(), ElementsAre("1 2 flags=1"));
}

TEST_F(PacketWriterTest, ItsFileIsNotForEveryone) {
    struct stat facts {};
    ASSERT_EQ(::stat(file().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0137, 0U);
}

TEST_F(PacketWriterTest, DoesNotFollowLinks) {
    std::filesystem::create_symlink(file(), folder_.path() / "link");
    EXPECT_FALSE(PacketWriter::create(folder_.path() / "link").ok());
    EXPECT_FALSE(PacketWriter::create(folder_.path() / "no/folder").ok());
}

TEST_F(PacketWriterTest, TellsOfTheFirstWriteThatFailed) {
    auto full = PacketWriter::create("/dev/full");
    ASSERT_TRUE(full.ok());
    for (int round = 0; round < 2; ++round) {
        full->packet(Sequence::Machine, 1, UsesInterning::No, [](pbf_writer&) {});
        const Status finished = full->finish();
        ASSERT_FALSE(finished.ok()) << round;
        EXPECT_THAT(finished.error().message, HasSubstr("write the merged trace: "));
        EXPECT_THAT(finished.error().message, HasSubstr("No space left"));
    }
}

}  // namespace
}  // namespace lagtrap::trace::packet_writer_test
