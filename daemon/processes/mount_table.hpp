// The mounts of a namespace, as /proc/PID/mountinfo tells them (proc(5)), and which of them answer without anybody else
// (local_file_systems.hpp). Only reads the text: asks no file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::daemon {

struct Mount {
    std::uint64_t id = 0;
    std::uint64_t device = 0;  // major << 32 | minor, as lagtrap_mapping has it
    std::string point;
    std::string type;
    bool local = false;
    bool set_uid_counts = true;  // no nosuid: who mounted it is trusted with whom its files belong to
};

// Of /proc/PID/mountinfo, as far as it is read.
inline constexpr std::uint64_t mountinfo_limit_bytes = 4 << 20;

class MountTable {
  public:
    // An overlay is local if all its layers are, which its options name by paths of who mounted it. Where the machine's own
    // mounts (`machine`; nullptr: `text` is them) have the same overlay, the paths are the machine's. Else they are looked
    // up both in `text` and on the machine, and a layer that is not local in either makes the overlay not local. A layer that
    // neither knows counts as local. So does what the machine itself runs from: if that does not answer, nothing does.
    [[nodiscard]] static MountTable parse(std::string_view text, const MountTable* machine = nullptr);

    // nullptr: there is none.
    [[nodiscard]] const Mount* by_id(std::uint64_t id) const;
    // The one that a path lies in, by its name alone.
    [[nodiscard]] const Mount* holding(const std::filesystem::path& path) const;
    [[nodiscard]] const Mount* by_device(std::uint64_t device) const;
    // False: among them is one of a kind that asks its server already when somebody looks where a file lies (O_PATH).
    [[nodiscard]] bool answers_to_a_look() const;

  private:
    std::vector<Mount> mounts_;
};

}  // namespace lagtrap::daemon
