#include "daemon/processes/task_records.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>

namespace lagtrap::daemon {
namespace {

// What sample_id_all appends to each record for PERF_SAMPLE_TID | TIME | CPU (perf_event.h).
struct SampleId {
    std::uint32_t pid, tid;
    std::uint64_t time_ns;
    std::uint32_t cpu, reserved;
};
static_assert(sizeof(SampleId) == 24);

template <typename T>
T read_as(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

lagtrap_record header_of(std::size_t bytes, lagtrap_record_type type, std::uint16_t cpu,
                         std::uint64_t at_ns) {
    return {static_cast<std::uint32_t>(bytes), static_cast<std::uint16_t>(type), cpu, at_ns};
}

// PERF_RECORD_MMAP2: header, pid, tid, addr, len, pgoff, 24 bytes of identity, prot, flags, file
// name, sample id.
constexpr std::size_t mmap2_name_at = 8 + 8 + 24 + 24 + 8;

void take_mapping(const char* record, std::size_t bytes, std::uint16_t misc, const SampleId& id,
                  std::uint16_t cpu, const OnTaskRecord& on_record) {
    if (bytes < mmap2_name_at + sizeof(SampleId)) return;
    const char* const name = record + mmap2_name_at;
    const std::size_t name_bytes =
        std::min<std::size_t>(::strnlen(name, bytes - mmap2_name_at - sizeof(SampleId)), 4096);
    std::vector<char> buffer(sizeof(lagtrap_mapping) + name_bytes);
    lagtrap_mapping mapping{};
    mapping.header = header_of(buffer.size(), LAGTRAP_RECORD_MAPPING, cpu, id.time_ns);
    mapping.pid = read_as<std::uint32_t>(record + 8);
    mapping.start = read_as<std::uint64_t>(record + 16);
    mapping.length = read_as<std::uint64_t>(record + 24);
    mapping.file_offset = read_as<std::uint64_t>(record + 32);
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        mapping.build_id_bytes = std::min<std::uint8_t>(read_as<std::uint8_t>(record + 40), 20);
        std::memcpy(mapping.build_id, record + 44, mapping.build_id_bytes);
    } else {
        mapping.device = std::uint64_t{read_as<std::uint32_t>(record + 40)} << 32 |
                         read_as<std::uint32_t>(record + 44);
        mapping.inode = read_as<std::uint64_t>(record + 48);
    }
    mapping.path_bytes = static_cast<std::uint16_t>(name_bytes);
    std::memcpy(buffer.data(), &mapping, sizeof(mapping));
    std::memcpy(buffer.data() + sizeof(mapping), name, name_bytes);
    on_record(reinterpret_cast<const lagtrap_record*>(buffer.data()));
}

void take_name(const char* record, std::size_t bytes, std::uint16_t misc, const SampleId& id,
               std::uint16_t cpu, const OnTaskRecord& on_record) {
    if (bytes < 16 + sizeof(SampleId)) return;
    lagtrap_name name{};
    name.header = header_of(sizeof(name), LAGTRAP_RECORD_NAME, cpu, id.time_ns);
    name.pid = read_as<std::uint32_t>(record + 8);
    name.tid = read_as<std::uint32_t>(record + 12);
    name.by_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
    const std::size_t name_bytes = ::strnlen(record + 16, bytes - 16 - sizeof(SampleId));
    std::memcpy(name.comm, record + 16, std::min<std::size_t>(name_bytes, sizeof(name.comm) - 1));
    on_record(&name.header);
}

void take_task_change(const char* record, std::size_t bytes, std::uint32_t type, std::uint16_t cpu,
                      const OnTaskRecord& on_record) {
    if (bytes < 8 + 16 + 8) return;
    lagtrap_task_change change{};
    change.header = header_of(sizeof(change),
                              type == PERF_RECORD_FORK ? LAGTRAP_RECORD_FORK : LAGTRAP_RECORD_EXIT,
                              cpu, read_as<std::uint64_t>(record + 24));
    change.pid = read_as<std::uint32_t>(record + 8);
    change.parent_pid = read_as<std::uint32_t>(record + 12);
    change.tid = read_as<std::uint32_t>(record + 16);
    change.parent_tid = read_as<std::uint32_t>(record + 20);
    on_record(&change.header);
}

}  // namespace

std::uint64_t take_task_record(const char* record, std::size_t bytes, std::uint16_t cpu,
                               const OnTaskRecord& on_record) {
    const auto header = read_as<perf_event_header>(record);
    if (header.type == PERF_RECORD_LOST)
        return bytes >= 24 ? read_as<std::uint64_t>(record + 16) : 0;
    if (bytes < sizeof(header) + sizeof(SampleId)) return 0;
    const auto id = read_as<SampleId>(record + bytes - sizeof(SampleId));
    switch (header.type) {
        case PERF_RECORD_MMAP2: take_mapping(record, bytes, header.misc, id, cpu, on_record); break;
        case PERF_RECORD_COMM: take_name(record, bytes, header.misc, id, cpu, on_record); break;
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT: take_task_change(record, bytes, header.type, cpu, on_record); break;
        default: break;
    }
    return 0;
}

std::uint64_t PerfRing::read(const char* data, std::size_t data_bytes, std::uint64_t head,
                             std::uint64_t tail, const OnPerfRecord& on_record) {
    while (head - tail >= sizeof(perf_event_header)) {
        const std::size_t at = tail % data_bytes;
        // Records are aligned to 8 bytes, so a header never wraps.
        const auto header = read_as<perf_event_header>(data + at);
        if (header.size < sizeof(header) || header.size > head - tail) break;
        const char* record = data + at;
        if (at + header.size > data_bytes) {
            const std::size_t first = data_bytes - at;
            wrapped_.resize(header.size);
            std::memcpy(wrapped_.data(), record, first);
            std::memcpy(wrapped_.data() + first, data, header.size - first);
            record = wrapped_.data();
        }
        on_record(record, header.size);
        tail += header.size;
    }
    return tail;
}

}  // namespace lagtrap::daemon
