// Records of the rundown log, one after the other in memory aligned to 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::daemon {

class RecordBuffer {
  public:
    // Appends `size` bytes of a record followed by `text`, and sets size_bytes of the copy to the
    // sum.
    void append(const void* record, std::size_t size, std::string_view text);
    void append(const RecordBuffer& others) {
        words_.insert(words_.end(), others.words_.begin(), others.words_.end());
    }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (std::size_t at = 0; at < words_.size();) {
            const auto* record = reinterpret_cast<const lagtrap_record*>(words_.data() + at);
            visit(record);
            at += (record->size_bytes + 7) / 8;
        }
    }
    // Reserves memory, so that appending does not move records. The memory is not touched before it
    // is used.
    void reserve(std::size_t bytes) { words_.reserve(bytes / sizeof(std::uint64_t)); }
    [[nodiscard]] bool empty() const { return words_.empty(); }
    [[nodiscard]] std::size_t size_bytes() const { return words_.size() * sizeof(std::uint64_t); }

    // For transfer to another process of this program.
    [[nodiscard]] std::string_view bytes() const {
        return {reinterpret_cast<const char*>(words_.data()), size_bytes()};
    }
    // False if these are not complete records; nothing is changed then.
    [[nodiscard]] bool assign(std::string_view bytes);

  private:
    std::vector<std::uint64_t> words_;
};

// The path that follows a mapping's record.
[[nodiscard]] std::string_view path_of(const lagtrap_mapping& mapping);

}  // namespace lagtrap::daemon
