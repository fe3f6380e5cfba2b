// The kernel around the programs, as tests set it up and inspect it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/unit/bpf/native_kernel.h"

namespace lagtrap::native {

using Bytes = std::vector<std::byte>;
// Each value and record is a separate allocation, so that the sanitizer detects out-of-bounds
// access.
using Value = std::unique_ptr<std::byte[]>;

struct Map {
    std::uint32_t type, max_entries, key_size, value_size;
    std::vector<Value> elements;                    // of arrays: each is created on first use
    std::unordered_map<std::string, Value> of_key;  // of hashes
    std::vector<std::string> by_age;                // keys of LRU hashes, oldest first
    std::size_t room_bytes;                         // of rings
    std::vector<Bytes> records;
};

class Kernel {
  public:
    static Kernel& instance();

    // Clears everything and loads the programs.
    void reset();
    [[nodiscard]] Map& map(const void* handle);
    // The array element at an index; for per-CPU arrays, that of the selected CPU.
    template <typename T>
    [[nodiscard]] T& at(const void* handle, std::uint32_t index) {
        return *static_cast<T*>(lookup(map(handle), &index));
    }
    [[nodiscard]] void* lookup(Map& map, const void* key);
    // The records of a ring since the last call.
    [[nodiscard]] std::vector<Bytes> take_records(const void* ring);

    // Actions of another CPU, run once: before the next exchange, at the next barrier, or when the
    // running program next asks for the time.
    std::function<void()> before_exchange, at_barrier, at_clock;

    std::uint64_t now_ns = 0;
    std::uint32_t cpu = 0;
    std::uint64_t cookie = 0;
    std::uint64_t cgroup = 0;
    const native_thread* current = nullptr;
    std::unordered_map<std::uint64_t, std::string> user_texts;    // by address
    std::unordered_map<std::uint64_t, std::uint64_t> user_words;  // by address
    std::set<std::uint64_t> paged_out;           // words that only programs that may sleep can read
    std::set<std::string> missing;               // types and fields that the kernel lacks
    std::vector<std::uint64_t> stack;            // of the kernel, of any thread
    std::map<std::uint64_t, std::string> names;  // of functions of the kernel, by address
    // by map and thread
    std::map<std::pair<const void*, const void*>, Value> task_storage;
    std::unordered_map<void*, std::pair<Map*, Value>> reserved;

    std::unordered_map<const void*, Map> maps;
};

constexpr std::uint32_t cpu_count = 4;

// Marks the address of an object as one of the kernel. Programs that search for pointers follow no
// others.
constexpr std::uint64_t kernel_address_mark = 0xff00000000000000;
inline std::uint64_t kernel_address(const void* object) {
    return reinterpret_cast<std::uint64_t>(object) | kernel_address_mark;
}

}  // namespace lagtrap::native
