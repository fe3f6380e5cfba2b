// The spool is the folder where captures and bundles wait until the server has them. A bundle's
// state is the folder it is in, so a crash leaves no index to repair.
//
//   captures/  recordings in progress or waiting for their merge; only the daemon uses it
//   clients/   recordings for clients of the control socket; only the daemon uses it
//   ready/     bundles and batches of runs not yet sent
//   sending/   the one the uploader is sending; a restart moves it back to ready/
//   sent/      the server has confirmed their digest; batches stay for some hours, for lagtrap runs
//   rejected/  the server will never accept them; NAME.reason says why
//
// The spool and captures/ have mode 0750, which admits readers. The other folders have mode 0775
// and the group of writers (spool_writers). So an unprivileged uploader can move bundles made by
// the daemon, and mere readers can remove nothing. Every move is a rename, synced on both sides.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "spool/entry_name.hpp"
#include "spool/retention.hpp"

namespace lagtrap::spool {

struct SpoolEntry {
    std::string name;  // file name, as for parse_entry_name()
    EntryState state = EntryState::Ready;
    EntryKind kind = EntryKind::Bundle;
    std::uint64_t size_bytes = 0;
    std::chrono::system_clock::time_point made;
    std::string reason;  // why it was rejected; printable, empty in other states
};

// Group whose members may change a spool. Packages create it; a machine may lack it.
inline constexpr const char* spool_writers = "lagtrap-spool";
// spool_writers if that group exists, otherwise empty.
[[nodiscard]] std::string group_of_writers();

// Any number of processes may use a spool; only the holder of lock_for_sending() may claim and
// recover. Copyable, holds no descriptors, and is safe to use from any thread.
class Spool {
  public:
    // Creates what is missing. `group` may write to the shared folders; fails if it does not exist
    // or cannot be given the folders. If empty, the folders keep their group, whose members may
    // read and write, and new files inherit it (mode 2770).
    [[nodiscard]] static Result<Spool> create(const std::filesystem::path& path,
                                              const std::string& group = {});
    // Opens an existing spool. Fails with a hint if there is no ready/ or a folder is unusable.
    // Creates other missing folders if this user may.
    [[nodiscard]] static Result<Spool> open(const std::filesystem::path& path);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path captures() const { return path_ / "captures"; }
    [[nodiscard]] std::filesystem::path folder(EntryState state) const;
    [[nodiscard]] std::filesystem::path path_of(EntryState state, const std::string& name) const;

    // Bundles and batches in a folder, oldest first; skips other files and links.
    [[nodiscard]] Result<std::vector<SpoolEntry>> list(EntryState state) const;
    [[nodiscard]] Result<std::vector<SpoolEntry>> list_all() const;

    // Held until the descriptor is closed. ErrorKind::Busy if another process holds it.
    [[nodiscard]] Result<UniqueFd> lock_for_sending() const;

    // ready -> sending. ErrorKind::NotFound if it is no longer there (removed by retention, or by
    // hand).
    [[nodiscard]] Status claim(const std::string& name) const;
    // sending -> sent, rejected (with a reason), or back to ready. A batch of runs that was sent is
    // deleted instead, if so wished.
    enum class SentBatch { Delete, Keep };
    [[nodiscard]] Status mark_sent(const std::string& name,
                                   SentBatch batch = SentBatch::Delete) const;
    [[nodiscard]] Status mark_rejected(const std::string& name, std::string_view reason) const;
    [[nodiscard]] Status put_back(const std::string& name) const;
    // Adds the spans of a session, from make_spans(), to ready/.
    [[nodiscard]] Status add_spans(std::string_view session_id, std::string_view spans) const;
    // Moves whatever an earlier uploader left in sending/ back to ready/; returns the number of
    // entries.
    [[nodiscard]] Result<std::uint32_t> recover() const;

    // Removes what choose_removals() returns, which is more if the disk is nearly full (less than
    // 64 MiB and less than a twentieth of it free), and unfinished files older than an hour. Adds
    // entries that were never sent to unsent_removed() and unsent_batches_removed().
    [[nodiscard]] Result<RetentionOutcome> apply_retention(
        const RetentionLimits& limits, std::chrono::system_clock::time_point now) const;
    // Names the holder of the lock of apply_retention(), and its file: "process 17 of user 1000
    // holds /.../.retention".
    [[nodiscard]] std::string who_holds_retention() const;
    // Number of unsent bundles that retention has ever removed from this spool.
    [[nodiscard]] std::uint64_t unsent_removed() const;
    // The same number for batches of runs.
    [[nodiscard]] std::uint64_t unsent_batches_removed() const;

  private:
    explicit Spool(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
};

}  // namespace lagtrap::spool
