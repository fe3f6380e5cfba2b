// The state of all processes when a capture begins: their programs, command lines and mapped code with build ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/record_buffer.hpp"
#include "daemon/processes/user_shares.hpp"

namespace lagtrap::daemon {

struct ScanLimits {
    // Held of all processes at once, at most: beyond it, and beyond its user's share of it (user_shares.hpp), the texts of a
    // process are cut to its program's name, and its mappings are left out.
    std::uint64_t total_bytes = 64ULL << 20;
    InspectionLimits process;
};

// Reads /proc (or what stands in for it): a lagtrap_process record of each process and, where it is asked for, the
// lagtrap_mapping records of its code. Processes that vanish while they are read are left out, and so are threads of the
// kernel, and those that hold up who looks at them. The build id of a file is read once.
class ProcessScan {
  public:
    explicit ProcessScan(std::filesystem::path proc_root = "/proc", ScanLimits limits = {});

    // One process with its code, before the others: the one that may end first.
    void add(std::uint32_t pid);
    // What a process says of itself now, without its code: it may have become another program since it was added.
    void add_again(std::uint32_t pid);
    // All that add() was not called for.
    enum class Code { Read, Known };
    void add_others(Code code = Code::Read);

    [[nodiscard]] const RecordBuffer& records() const { return records_; }
    [[nodiscard]] RecordBuffer take_records() { return std::exchange(records_, RecordBuffer()); }
    // Records that were cut or left out, by user.
    [[nodiscard]] const LeftOut& left_out() const { return room_.left_out(); }

  private:
    void add(std::uint32_t pid, Code code);
    void take(const RecordBuffer& process);
    void set_build_id_of(lagtrap_mapping& mapping, const std::string& path);

    std::filesystem::path proc_root_;
    ScanLimits limits_;
    UserShares room_;
    DirectInspector own_inspector_;
    ProcessInspector& inspector_;
    RecordBuffer records_;
    std::set<std::uint32_t> added_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> build_ids_;  // by device and inode
};

// The processes there are, as the names in /proc tell; some may be gone by now.
[[nodiscard]] std::set<std::uint32_t> list_processes(const std::filesystem::path& proc_root);

}  // namespace lagtrap::daemon
