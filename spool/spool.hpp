// The spool: the folder where captures and bundles wait until the server has them. The state of a bundle is
// the folder it lies in, so that after a crash the folders tell the truth and there is no index to repair.
//
//   captures/  recordings being written or waiting for their merge; the daemon's alone
//   ready/     bundles and batches of runs not yet sent
//   sending/   the one the uploader works on; a restart puts it back into ready/
//   sent/      the server has confirmed their digest
//   rejected/  the server will never take them; NAME.reason says why
//
// The spool itself has mode 0750, and so lets in who may read it. captures/ has 0750 too, the other folders 0775 with the
// group of those who may write (spool_writers), so that an uploader without privileges moves bundles that the daemon made,
// and who may only read removes none. Every move is a rename, synced on both sides.
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
#include "spool/retention.hpp"

namespace lagtrap::spool {

// What the name of an entry says: "SESSION-DIGEST16.lagtrap.tar.zst" of a bundle, "BATCH-DIGEST16.runs.zst" of a batch of
// runs, "SESSION-DIGEST16.otlp.pb" of a bundle's delays as spans.
struct EntryName {
    std::string id;             // of session or batch: UUID in lower case
    std::string digest_prefix;  // first 16 hexadecimal digits of the SHA-256 of the file
    EntryKind kind = EntryKind::Bundle;
};

// Nothing unless `name` is a whole name of an entry; files of other names in the spool's folders are left alone.
[[nodiscard]] std::optional<EntryName> parse_entry_name(std::string_view name);
[[nodiscard]] std::string make_bundle_name(std::string_view session_id, std::string_view digest);
[[nodiscard]] std::string make_batch_name(std::string_view batch_id, std::string_view digest);
[[nodiscard]] std::string make_spans_name(std::string_view session_id, std::string_view digest);

struct SpoolEntry {
    std::string name;  // of the file, as parse_entry_name takes it
    EntryState state = EntryState::Ready;
    EntryKind kind = EntryKind::Bundle;
    std::uint64_t size_bytes = 0;
    std::chrono::system_clock::time_point made;
    std::string reason;  // why it was rejected; printable, empty in the other states
};

// What apply_retention() removed.
struct RetentionOutcome {
    std::uint32_t sent = 0;
    std::uint32_t rejected = 0;
    std::uint32_t unsent = 0;   // lost for the server
    std::uint32_t batches = 0;  // of runs, never sent
    std::uint64_t bytes = 0;
    bool left_to_another = false;  // who holds the lock does this very work
    void add(const RetentionOutcome& other);
    // "removed 2 sent and 1 unsent bundles (12.0 MiB)"; empty if nothing was removed.
    [[nodiscard]] std::string describe() const;
};

// The group whose members may change a spool. A package makes it; a machine may be without.
inline constexpr const char* spool_writers = "lagtrap-spool";
// Its name where it is there, else empty.
[[nodiscard]] std::string group_of_writers();

// Any number of processes may use one spool; only the holder of lock_for_sending() may claim and recover.
// Copyable, holds no descriptors; functions may be called from any thread.
class Spool {
  public:
    // Makes what is missing. `group` may write in the shared folders; an error if there is no such group, or if the folders
    // cannot be given to it. Empty: they stay their group's, who may read may write too, and what is made in them is
    // that group's (mode 2770).
    [[nodiscard]] static Result<Spool> create(const std::filesystem::path& path, const std::string& group = {});
    // For a spool that is there: an error with a hint if there is no ready/, or if a folder cannot be used.
    // Other folders that are missing are made, if this user may.
    [[nodiscard]] static Result<Spool> open(const std::filesystem::path& path);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path captures() const { return path_ / "captures"; }
    [[nodiscard]] std::filesystem::path folder(EntryState state) const;
    [[nodiscard]] std::filesystem::path path_of(EntryState state, const std::string& name) const;

    // The bundles and batches in a folder, oldest first; other files and links are not listed.
    [[nodiscard]] Result<std::vector<SpoolEntry>> list(EntryState state) const;
    [[nodiscard]] Result<std::vector<SpoolEntry>> list_all() const;

    // Held while the descriptor is open; ErrorKind::Busy while another process holds it.
    [[nodiscard]] Result<UniqueFd> lock_for_sending() const;

    // ready -> sending. ErrorKind::NotFound if it is no longer there (retention, another hand).
    [[nodiscard]] Status claim(const std::string& name) const;
    // sending -> sent, rejected (with a reason), or back to ready. A batch of runs that was sent is removed.
    [[nodiscard]] Status mark_sent(const std::string& name) const;
    [[nodiscard]] Status mark_rejected(const std::string& name, std::string_view reason) const;
    [[nodiscard]] Status put_back(const std::string& name) const;
    // Into ready/: the spans of a session, as make_spans() has them.
    [[nodiscard]] Status add_spans(std::string_view session_id, std::string_view spans) const;
    // Puts back what an earlier uploader left in sending/; says how many.
    [[nodiscard]] Result<std::uint32_t> recover() const;

    // Removes what choose_removals() names, which is more where the disk is nearly full (less than 64 MiB and less than a
    // twentieth of it free), and files that somebody who was killed did not finish an hour ago; adds what was never sent to unsent_removed() and unsent_batches_removed().
    [[nodiscard]] Result<RetentionOutcome> apply_retention(const RetentionLimits& limits,
                                                           std::chrono::system_clock::time_point now) const;
    // Who holds the lock of apply_retention(), and which file that is: "process 17 of user 1000 holds /.../.retention".
    [[nodiscard]] std::string who_holds_retention() const;
    // How many unsent bundles retention has removed from this spool, ever.
    [[nodiscard]] std::uint64_t unsent_removed() const;
    // The same of batches of runs.
    [[nodiscard]] std::uint64_t unsent_batches_removed() const;

  private:
    explicit Spool(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
};

}  // namespace lagtrap::spool
