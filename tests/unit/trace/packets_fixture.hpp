// Packets as text, for tests of what writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/trace/merge_fixture.hpp"
#include "trace/logs/record_stream.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/address_spaces.hpp"

namespace lagtrap::trace {

class Packets : public testing::Test {
  protected:
    // All packets so far, each as tests/data/trace/print_packets.py prints it: "SEQUENCE TIME ...".
    // Those with `part` only.
    std::vector<std::string> packets(std::string_view part = "") {
        EXPECT_TRUE(writer_.finish().ok());
        const Output output = output_of(test_python() + " " + test_data_folder() +
                                        "/trace/print_packets.py '" + file().string() + "' 2>&1");
        EXPECT_EQ(output.exit_code, 0) << output.text;
        std::vector<std::string> lines;
        for (std::size_t at = 0; at < output.text.size();) {
            const std::size_t end = output.text.find('\n', at);
            const std::string line = output.text.substr(at, end - at);
            if (line.find(part) != std::string::npos) lines.push_back(line);
            at = end + 1;
        }
        return lines;
    }
    [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "trace"; }

    TemporaryDirectory folder_;
    PacketWriter writer_ = PacketWriter::create(file()).value();
};

// The bytes of a record followed by `trailing`; valid until the next call.
template <typename Record>
const lagtrap_record* record_with(Record record, lagtrap_record_type type, std::uint64_t at_ns,
                                  std::uint16_t cpu, std::string_view trailing = "") {
    static std::vector<std::uint64_t> bytes;
    record.header = {static_cast<__u32>(sizeof(record) + trailing.size()), static_cast<__u16>(type),
                     cpu, at_ns};
    bytes.assign(sizeof(record) / 8 + trailing.size() / 8 + 2, 0);
    std::memcpy(bytes.data(), &record, sizeof(record));
    std::memcpy(reinterpret_cast<char*>(bytes.data()) + sizeof(record), trailing.data(),
                trailing.size());
    return reinterpret_cast<const lagtrap_record*>(bytes.data());
}

// Reads a record of the rundown into the address spaces, as the merge does beforehand.
inline void load_rundown(AddressSpaces& spaces, const lagtrap_record* record) {
    const TemporaryDirectory folder;
    auto log = LogWriter::create(folder.path(), LogKind::Rundown, synthetic_session().id, {});
    ASSERT_TRUE(log.ok() && log->append(record).ok() && log->flush().ok());
    auto stream = RecordStream::open(folder.path() / log_file_name(LogKind::Rundown), 10);
    ASSERT_TRUE(stream.ok() && spaces.load(*stream).ok());
}

inline void set_comm(char (&comm)[LAGTRAP_COMM_BYTES], std::string_view name) {
    std::memset(comm, 0, sizeof(comm));
    std::memcpy(comm, name.data(), std::min(name.size(), sizeof(comm)));
}

}  // namespace lagtrap::trace
