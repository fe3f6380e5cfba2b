// The state of all processes when a capture begins: their programs, command lines and mapped code with build ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::daemon {

// Records of the rundown log, one after the other in memory that is aligned to 8 bytes.
class RecordBuffer {
  public:
    // `size` bytes of a record followed by `text`; size_bytes of the copy is set to both.
    void append(const void* record, std::size_t size, std::string_view text);
    void append(const RecordBuffer& others) { words_.insert(words_.end(), others.words_.begin(), others.words_.end()); }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (std::size_t at = 0; at < words_.size();) {
            const auto* record = reinterpret_cast<const lagtrap_record*>(words_.data() + at);
            visit(record);
            at += (record->size_bytes + 7) / 8;
        }
    }
    [[nodiscard]] bool empty() const { return words_.empty(); }
    [[nodiscard]] std::size_t size_bytes() const { return words_.size() * sizeof(std::uint64_t); }

  private:
    std::vector<std::uint64_t> words_;
};

// Reads /proc (or what stands in for it): a lagtrap_process record of each process and, where it is asked for, the
// lagtrap_mapping records of its code. Processes that vanish while they are read are left out, and so are threads of the
// kernel. The build id of a file is read once.
class ProcessScan {
  public:
    explicit ProcessScan(std::filesystem::path proc_root = "/proc") : proc_root_(std::move(proc_root)) {}

    // One process with its code, before the others: the one that may end first.
    void add(std::uint32_t pid);
    // All that add() was not called for.
    enum class Code { Read, Known };
    void add_others(Code code = Code::Read);

    [[nodiscard]] const RecordBuffer& records() const { return records_; }
    [[nodiscard]] RecordBuffer take_records() { return std::exchange(records_, RecordBuffer()); }

  private:
    void add(std::uint32_t pid, Code code);

    std::filesystem::path proc_root_;
    RecordBuffer records_;
    std::set<std::uint32_t> added_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> build_ids_;  // by device and inode
};

}  // namespace lagtrap::daemon
