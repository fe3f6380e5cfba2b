#include "daemon/processes/task_events.hpp"

#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/perf_event.hpp"

namespace lagtrap::daemon {
namespace {

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
    const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    const std::uint64_t tail =
        reader_.read(ring.memory + control->data_offset, ring.data_bytes, head, control->data_tail,
                     [&](const char* record, std::size_t bytes) {
                         lost_ += take_task_record(record, bytes, ring.cpu, on_record);
                     });
    __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
}

}  // namespace lagtrap::daemon
