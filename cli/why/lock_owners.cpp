#include "cli/why/lock_owners.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <string>

#include "core/files.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t task_file_bytes = 4096;

struct FutexWait {
    std::uint64_t address = 0;
    bool names_owner = false;  // the futex itself is the owner's number
};

// Of a line such as "202 0x7f01 0x80 0x2 ...".
std::optional<FutexWait> futex_wait_in(const std::string& line) {
    std::istringstream words(line);
    long call = -1;
    std::uint64_t address = 0, operation = 0;
    if (!(words >> call >> std::hex >> address >> operation) || call != SYS_futex)
        return std::nullopt;
    switch (operation & FUTEX_CMD_MASK) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET: return FutexWait{address, false};
        case FUTEX_LOCK_PI:
        case FUTEX_LOCK_PI2: return FutexWait{address, true};
        default: return std::nullopt;
    }
}

// The beginning of glibc's pthread_mutex_t: lock, count, owner.
using Mutex = std::array<std::uint32_t, 3>;

std::optional<Mutex> read_mutex(std::uint32_t pid, std::uint64_t address) {
    Mutex mutex{};
    const iovec here{mutex.data(), sizeof mutex};
    const iovec there{reinterpret_cast<void*>(address), sizeof mutex};
    if (::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) != sizeof mutex)
        return std::nullopt;
    return mutex;
}

std::uint32_t owner_in(const Mutex& mutex, const FutexWait& wait) {
    constexpr std::uint32_t locked_with_waiters = 2;
    if (wait.names_owner || (mutex[0] & FUTEX_WAITERS) != 0) return mutex[0] & FUTEX_TID_MASK;
    return mutex[0] == locked_with_waiters ? mutex[2] : 0;
}

// A thread's number in its own PID namespace, which is what the C library knows.
std::uint32_t own_number_of(const fs::path& thread) {
    constexpr std::string_view key = "\nNSpid:";
    const auto status = read_file(thread / "status", task_file_bytes);
    const std::size_t at = status ? status->find(key) : std::string::npos;
    if (at == std::string::npos) return 0;
    std::istringstream numbers(
        status->substr(at + key.size(), status->find('\n', at + 1) - at - key.size()));
    std::uint32_t number = 0;
    while (numbers >> number) continue;
    return number;
}

}  // namespace

std::map<std::uint32_t, std::uint32_t> lock_owners(std::uint32_t pid, const fs::path& proc_root) {
    std::map<std::uint32_t, FutexWait> waits;
    std::map<std::uint32_t, std::uint32_t> threads;  // by their own number
    std::error_code failed;
    for (const auto& entry :
         fs::directory_iterator(proc_root / std::to_string(pid) / "task", failed)) {
        const std::string name = entry.path().filename().string();
        std::uint32_t tid = 0;
        std::from_chars(name.data(), name.data() + name.size(), tid);
        threads[own_number_of(entry.path())] = tid;
        const auto call = read_file(entry.path() / "syscall", task_file_bytes);
        if (const auto wait = call ? futex_wait_in(*call) : std::nullopt) waits[tid] = *wait;
    }
    std::map<std::uint32_t, std::uint32_t> owners;
    for (const auto& [tid, wait] : waits) {
        const auto mutex = read_mutex(pid, wait.address);
        const auto owner = mutex ? threads.find(owner_in(*mutex, wait)) : threads.end();
        if (owner != threads.end() && owner->first != 0) owners[tid] = owner->second;
    }
    return owners;
}

}  // namespace lagtrap::cli
