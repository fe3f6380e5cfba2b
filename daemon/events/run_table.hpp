// The table of open runs, mapped from the kernel. BPF programs write to it at the same time; see
// bpf/listener.h for the order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/kernel/mapped_map.hpp"

namespace lagtrap::daemon {

// Reads a value that a BPF program may be writing.
template <typename T>
[[nodiscard]] T load(const T& value) {
    return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}

// Not thread-safe.
class RunTable {
  public:
    [[nodiscard]] static Result<RunTable> map(int tags_fd, int slots_fd);

    [[nodiscard]] std::uint64_t& tag(std::size_t index) const { return static_cast<std::uint64_t*>(tags_.at)[index]; }
    [[nodiscard]] lagtrap_slot& slot(std::size_t index) const { return static_cast<lagtrap_slot*>(slots_.at)[index]; }

    // True for words of the table that hold no tag.
    [[nodiscard]] static bool is_spill_count(std::size_t index) {
        return index % LAGTRAP_BUCKET_SLOTS == LAGTRAP_BUCKET_TAGS;
    }
    // Calls `each` with index and tag of every open run.
    template <typename Each>
    void for_each_open(Each each) const {
        for (std::size_t index = 0; index < LAGTRAP_OPEN_SLOTS; ++index) {
            const std::uint64_t tag_here = load(tag(index));
            if (tag_here != 0 && tag_here != LAGTRAP_TAG_TAKEN && !is_spill_count(index)) each(index, tag_here);
        }
    }

    // Returns a copy; nullopt if the run ended or was replaced during the copy.
    [[nodiscard]] std::optional<lagtrap_run> read(std::size_t index, std::uint64_t tag) const;
    // False if the run ended or was replaced first.
    bool free(std::size_t index, std::uint64_t tag);

  private:
    MappedMap tags_, slots_;
};

}  // namespace lagtrap::daemon
