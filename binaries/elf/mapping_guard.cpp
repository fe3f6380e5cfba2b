#include "binaries/elf/mapping_guard.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

namespace lagtrap::binaries {
namespace {

struct Slot {
    std::atomic<bool> taken = false;
    std::atomic<std::uintptr_t> start = 0;
    std::atomic<std::uintptr_t> end = 0;  // 0: unused
    std::atomic<bool> cut = false;
};

std::array<Slot, 64> slots;
struct sigaction former_action;

// Runs in a signal handler: only system calls and atomics.
bool repair(std::uintptr_t address) {
    for (Slot& slot : slots) {
        if (address < slot.start.load() || address >= slot.end.load()) continue;
        const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        auto* page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (::mmap(page, page_bytes, PROT_READ, flags, -1, 0) == MAP_FAILED) return false;
        slot.cut.store(true);
        return true;
    }
    return false;
}

void on_bus_error(int number, siginfo_t* facts, void* context) {
    const int saved = errno;
    if (facts->si_code == BUS_ADRERR && repair(reinterpret_cast<std::uintptr_t>(facts->si_addr))) {
        errno = saved;
        return;
    }
    if ((former_action.sa_flags & SA_SIGINFO) != 0) {
        former_action.sa_sigaction(number, facts, context);
    } else if (former_action.sa_handler != SIG_DFL && former_action.sa_handler != SIG_IGN) {
        former_action.sa_handler(number);
    } else {
        // The access is repeated and then ends the process.
        ::sigaction(SIGBUS, &former_action, nullptr);
        if (facts->si_code <= 0) ::raise(SIGBUS);
    }
    errno = saved;
}

void install_handler() {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &former_action);
}

}  // namespace

std::optional<MappingGuard> MappingGuard::protect(const void* start, std::size_t bytes) {
    static std::once_flag once;
    std::call_once(once, install_handler);
    for (std::size_t index = 0; index < slots.size(); ++index) {
        Slot& slot = slots[index];
        if (slot.taken.exchange(true)) continue;
        slot.cut.store(false);
        slot.start.store(reinterpret_cast<std::uintptr_t>(start));
        slot.end.store(reinterpret_cast<std::uintptr_t>(start) + bytes);
        return MappingGuard(index);
    }
    return std::nullopt;
}

MappingGuard::MappingGuard(MappingGuard&& other) noexcept
    : slot_(std::exchange(other.slot_, std::nullopt)) {}

MappingGuard& MappingGuard::operator=(MappingGuard&& other) noexcept {
    release();
    slot_ = std::exchange(other.slot_, std::nullopt);
    return *this;
}

MappingGuard::~MappingGuard() { release(); }

void MappingGuard::release() {
    if (!slot_) return;
    slots[*slot_].end.store(0);
    slots[*slot_].taken.store(false);
    slot_.reset();
}

bool MappingGuard::file_was_cut() const { return slot_ && slots[*slot_].cut.load(); }

}  // namespace lagtrap::binaries
