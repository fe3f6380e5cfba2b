// Finds out which file a process maps: the one that the kernel probes, how the process sees it, and
// its build id.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/events/file_matches.hpp"
#include "daemon/probes/real_file.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/unwinding/mapped_files.hpp"

namespace lagtrap::daemon {

// For one thread.
class CopyFinder {
  public:
    using MappedFile = MappedFiles::MappedFile;
    // A version of a file, whatever its path.
    using Identity = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>;
    struct KnownFile {
        RealFile real;
        std::string build_id;  // lower-case hexadecimal; empty unless the settings need it
    };
    struct Opened {
        KnownFile file;
        UniqueFd descriptor;
    };
    // Errors: the kernel refuses the program that finds real files. The inspector and `stopped`
    // must outlive it; it stops reading when `stopped` becomes true.
    [[nodiscard]] static Result<std::unique_ptr<CopyFinder>> make(ProcessInspector& inspector,
                                                                  bool wants_build_ids,
                                                                  const std::atomic<bool>& stopped);

    [[nodiscard]] FileView view_of(const MappedFile& mapped_file) const;
    // ErrorKind::Vanished if the mapping is gone. Does not open the file.
    [[nodiscard]] Result<Identity> identify(const MappedFile& mapped_file);
    // A file that was opened before; nullopt if it was not, or was forgotten to make room.
    [[nodiscard]] std::optional<KnownFile> known(const Identity& identity) const;
    // Opens the file, reads its build id if needed, and remembers it.
    [[nodiscard]] Result<Opened> open(const MappedFile& mapped_file, const Identity& identity);
    // The real file behind a file that is open for reading.
    [[nodiscard]] Result<RealFile> real_file_of(int fd) { return real_files_->of(fd); }
    // True if the machine's root file system, which is never unmounted, has the file.
    [[nodiscard]] bool is_on_root(const FileView& view, std::uint64_t device) const {
        return view.machines && device == root_device_;
    }

  private:
    CopyFinder(ProcessInspector& inspector, bool wants_build_ids, const std::atomic<bool>& stopped,
               std::unique_ptr<RealFiles> real_files);
    [[nodiscard]] std::string name_at_start(const MappedFile& mapped_file) const;

    ProcessInspector& inspector_;
    const bool wants_build_ids_;
    const std::atomic<bool>& stopped_;
    std::unique_ptr<RealFiles> real_files_;
    // mount namespaces with the machine's own view of the file system
    std::set<std::uint64_t> machines_mounts_;
    std::uint64_t root_device_ = 0;  // device of the machine's root
    std::map<Identity, KnownFile> known_;
};

}  // namespace lagtrap::daemon
