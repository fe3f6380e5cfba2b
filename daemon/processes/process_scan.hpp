// The state of all processes when a capture begins: programs, command lines, and mapped code with
// build ids.
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
    // Limit for all processes together. Beyond it, and beyond a user's share of it
    // (user_shares.hpp), a process gets only its program's name, and no mappings.
    std::uint64_t total_bytes = 64ULL << 20;
    InspectionLimits process;
};

// Reads /proc (or a substitute): a lagtrap_process record for each process and, if requested,
// lagtrap_mapping records of its code. Skips kernel threads, processes that exit meanwhile, and
// those that delay the reader. The build id of a file is read once.
class ProcessScan {
  public:
    explicit ProcessScan(std::filesystem::path proc_root = "/proc", ScanLimits limits = {});

    // Adds one process with its code before the others, because it may exit first.
    void add(std::uint32_t pid);
    // Adds what a process reports about itself now, without its code: it may have started another
    // program since it was added.
    void add_again(std::uint32_t pid);
    // Adds all processes that add() was not called for.
    enum class Code { Read, Known };
    void add_others(Code code = Code::Read);

    [[nodiscard]] const RecordBuffer& records() const { return records_; }
    [[nodiscard]] RecordBuffer take_records() { return std::exchange(records_, RecordBuffer()); }
    // Number of records that were cut or left out, by user.
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
    // by device and inode
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> build_ids_;
};

// The processes listed in /proc; some may be gone by now.
[[nodiscard]] std::set<std::uint32_t> list_processes(const std::filesystem::path& proc_root);

}  // namespace lagtrap::daemon
