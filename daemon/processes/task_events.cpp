#include "daemon/processes/task_events.hpp"

#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/perf_event.hpp"

namespace lagtrap::daemon {
namespace {

// What sample_id_all appends to each record for PERF_SAMPLE_TID | TIME | CPU (perf_event.h).
struct SampleId {
    std::uint32_t pid, tid;
    std::uint64_t time_ns;
    std::uint32_t cpu, reserved;
};
static_assert(sizeof(SampleId) == 24);

perf_event_attr dummy_attributes() {
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    return attr;
}

perf_event_attr attributes(std::size_t ring_bytes) {
    perf_event_attr attr = dummy_attributes();
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    attr.sample_id_all = 1;
    attr.mmap = 1;
    attr.mmap2 = 1;
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.task = 1;
    attr.build_id = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
    attr.wakeup_watermark = static_cast<std::uint32_t>(ring_bytes / 2);
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
    return attr;
}

Status add_to(const UniqueFd& epoll, const UniqueFd& event) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &wanted) != 0)
        return system_error("poll a perf event");
    return success();
}

template <typename T>
T read_as(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

}  // namespace

// A second event for new names alone, of which exec makes one. It wakes whoever polls it at each
// record; at each mapping of code that would make starting a program measurably slower. Nobody
// reads the records: in a ring that is mapped read-only the kernel overwrites the oldest.
class TaskEvents::StartWakeup {
  public:
    StartWakeup() = default;
    StartWakeup(const StartWakeup&) = delete;
    StartWakeup& operator=(const StartWakeup&) = delete;
    ~StartWakeup() {
        if (memory_ != MAP_FAILED) ::munmap(memory_, memory_bytes_);
    }
    [[nodiscard]] Status open(int cpu, const UniqueFd& epoll) {
        perf_event_attr attr = dummy_attributes();
        attr.comm = 1;
        attr.watermark = 1;
        attr.wakeup_watermark = 1;
        fd_ = open_perf_event(attr, -1, cpu);
        if (!fd_.valid()) return system_error("open the event for started programs");
        memory_bytes_ = 2 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        memory_ = ::mmap(nullptr, memory_bytes_, PROT_READ, MAP_SHARED, fd_.get(), 0);
        if (memory_ == MAP_FAILED) return system_error("map the ring for started programs");
        return add_to(epoll, fd_);
    }

  private:
    UniqueFd fd_;
    void* memory_ = MAP_FAILED;
    std::size_t memory_bytes_ = 0;
};

struct TaskEvents::Ring {
    UniqueFd fd;
    std::uint16_t cpu = 0;
    char* memory = nullptr;
    std::size_t memory_bytes = 0;
    std::size_t data_bytes = 0;
    std::uint64_t enabled_ns = 0;
    StartWakeup program_started;

    ~Ring() {
        if (memory) ::munmap(memory, memory_bytes);
    }
    // The time of an event stops when its CPU goes offline; there is no other indication.
    [[nodiscard]] bool goes_on() {
        struct {
            std::uint64_t value, enabled_ns;
        } now{};
        if (::read(fd.get(), &now, sizeof(now)) != sizeof(now)) return false;
        return std::exchange(enabled_ns, now.enabled_ns) != now.enabled_ns;
    }
    [[nodiscard]] perf_event_mmap_page* control() const {
        return reinterpret_cast<perf_event_mmap_page*>(memory);
    }
};

Result<TaskEvents> TaskEvents::open(std::uint32_t ring_pages) {
    TaskEvents events;
    events.ring_pages_ = ring_pages;
    events.wakeups_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!events.wakeups_.valid())
        return system_error("create the epoll instance for exec, mmap and exit");
    const auto cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
    for (int cpu = 0; cpu < cpus; ++cpu) {
        auto ring = events.open_ring(cpu);
        if (!ring && ring.error().system_errno == ENODEV) continue;  // this CPU is offline
        if (!ring) return ring.error();
        events.rings_.push_back(std::move(ring).value());
    }
    return events;
}

Result<std::shared_ptr<TaskEvents::Ring>> TaskEvents::open_ring(int cpu) const {
    const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const perf_event_attr attr = attributes(ring_pages_ * page_bytes);
    auto ring = std::make_shared<Ring>();
    ring->cpu = static_cast<std::uint16_t>(cpu);
    ring->fd = open_perf_event(attr, -1, cpu);
    if (!ring->fd.valid()) return system_error("open the event for exec, mmap and exit");
    ring->data_bytes = ring_pages_ * page_bytes;
    ring->memory_bytes = ring->data_bytes + page_bytes;
    void* memory =
        ::mmap(nullptr, ring->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd.get(), 0);
    if (memory == MAP_FAILED) return system_error("map the ring for exec, mmap and exit");
    ring->memory = static_cast<char*>(memory);
    TRY(add_to(wakeups_, ring->fd));
    TRY(ring->program_started.open(cpu, wakeups_));
    return ring;
}

std::vector<int> TaskEvents::renew() {
    std::erase_if(rings_, [](const auto& ring) { return !ring->goes_on(); });
    std::vector<int> came;
    const auto cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
    for (int cpu = 0; cpu < cpus; ++cpu) {
        if (std::any_of(rings_.begin(), rings_.end(),
                        [cpu](const auto& ring) { return ring->cpu == cpu; }))
            continue;
        auto ring = open_ring(cpu);
        if (!ring) continue;
        rings_.push_back(std::move(ring).value());
        came.push_back(cpu);
        ++lost_;
    }
    return came;
}

void TaskEvents::drain(const OnRecord& on_record) {
    for (const auto& ring : rings_) drain_ring(*ring, on_record);
}

void TaskEvents::drain_ring(Ring& ring, const OnRecord& on_record) {
    perf_event_mmap_page* const control = ring.control();
    const char* const data = ring.memory + control->data_offset;
    const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = control->data_tail;
    while (head - tail >= sizeof(perf_event_header)) {
        const std::size_t at = tail % ring.data_bytes;
        // Records are aligned to 8 bytes, so a header never wraps.
        const auto header = read_as<perf_event_header>(data + at);
        if (header.size < sizeof(header) || header.size > head - tail) break;
        const char* record = data + at;
        if (at + header.size > ring.data_bytes) {
            const std::size_t first = ring.data_bytes - at;
            wrapped_.resize(header.size);
            std::memcpy(wrapped_.data(), record, first);
            std::memcpy(wrapped_.data() + first, data, header.size - first);
            record = wrapped_.data();
        }
        take(record, header.size, ring.cpu, on_record);
        tail += header.size;
    }
    __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
}

namespace {

lagtrap_record header_of(std::size_t bytes, lagtrap_record_type type, std::uint16_t cpu,
                         std::uint64_t at_ns) {
    return {static_cast<std::uint32_t>(bytes), static_cast<std::uint16_t>(type), cpu, at_ns};
}

// PERF_RECORD_MMAP2: header, pid, tid, addr, len, pgoff, 24 bytes of identity, prot, flags, file
// name, sample id.
constexpr std::size_t mmap2_name_at = 8 + 8 + 24 + 24 + 8;

void take_mapping(const char* record, std::size_t bytes, std::uint16_t misc, const SampleId& id,
                  std::uint16_t cpu, const TaskEvents::OnRecord& on_record) {
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
               std::uint16_t cpu, const TaskEvents::OnRecord& on_record) {
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
                      const TaskEvents::OnRecord& on_record) {
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

void TaskEvents::take(const char* record, std::size_t bytes, std::uint16_t cpu,
                      const OnRecord& on_record) {
    const auto header = read_as<perf_event_header>(record);
    if (header.type == PERF_RECORD_LOST && bytes >= 24)
        lost_ += read_as<std::uint64_t>(record + 16);
    if (bytes < sizeof(header) + sizeof(SampleId)) return;
    const auto id = read_as<SampleId>(record + bytes - sizeof(SampleId));
    switch (header.type) {
        case PERF_RECORD_MMAP2: take_mapping(record, bytes, header.misc, id, cpu, on_record); break;
        case PERF_RECORD_COMM: take_name(record, bytes, header.misc, id, cpu, on_record); break;
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT: take_task_change(record, bytes, header.type, cpu, on_record); break;
        default: break;
    }
}

}  // namespace lagtrap::daemon
