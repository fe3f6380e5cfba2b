// Writes the packets of a Perfetto trace in order to a file, in pieces of about 1 MiB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_set>

#include <protozero/pbf_writer.hpp>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {

// Packet sequences of the merged trace. Interned numbers are per sequence.
enum class Sequence : std::uint32_t {
    Machine = 1,
    Runs = 2,
    Samples = 3,
    OffCpu = 4,
    History = 5,
    Calls = 6,
    Functions = 7,
    FirstCpu = 16
};

[[nodiscard]] constexpr Sequence cpu_sequence(std::uint16_t cpu) {
    return static_cast<Sequence>(static_cast<std::uint32_t>(Sequence::FirstCpu) + cpu);
}

// Whether a packet refers to interned data of its sequence.
enum class UsesInterning { No, Yes };

// finish() reports the first failed write. Not thread-safe.
class PacketWriter {
  public:
    // Creates or truncates `path`.
    [[nodiscard]] static Result<PacketWriter> create(const std::filesystem::path& path);

    // Writes a packet at `at_ns` (CLOCK_BOOTTIME); `fill` adds the rest to the pbf_writer it is
    // given. The first packet of a sequence says that its incremental state is cleared.
    template <typename Fill>
    void packet(Sequence sequence, std::uint64_t at_ns, UsesInterning uses_interning, Fill fill) {
        {
            const auto id = static_cast<std::uint32_t>(sequence);
            std::uint32_t flags = uses_interning == UsesInterning::Yes
                                      ? perfetto::trace_packet::needs_incremental_state
                                      : 0;
            if (begun_.insert(id).second)
                flags |= perfetto::trace_packet::incremental_state_cleared;
            protozero::pbf_writer root(buffer_);
            protozero::pbf_writer packet(root, perfetto::trace_file::packet);
            packet.add_uint64(perfetto::trace_packet::timestamp, at_ns);
            packet.add_uint32(perfetto::trace_packet::trusted_packet_sequence_id, id);
            if (flags != 0) packet.add_uint32(perfetto::trace_packet::sequence_flags, flags);
            fill(packet);
        }
        if (buffer_.size() >= flush_bytes) flush();
    }

    // The next packet of the sequence clears its incremental state again.
    void begin_anew(Sequence sequence) { begun_.erase(static_cast<std::uint32_t>(sequence)); }

    // Writes what is left; returns the first error of any write.
    [[nodiscard]] Status finish();
    [[nodiscard]] std::uint64_t size_bytes() const { return written_bytes_ + buffer_.size(); }

  private:
    static constexpr std::size_t flush_bytes = 1 << 20;
    void flush();

    UniqueFd fd_;
    std::string buffer_;
    std::unordered_set<std::uint32_t> begun_;
    std::uint64_t written_bytes_ = 0;
    std::optional<Error> error_;
};

}  // namespace lagtrap::trace
