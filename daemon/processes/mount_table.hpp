// Parses the mounts of a namespace from /proc/PID/mountinfo (proc(5)), and decides which are local
// (local_file_systems.hpp). Does not access any file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::daemon {

struct Mount {
    std::uint64_t id = 0;
    std::uint64_t device = 0;  // major << 32 | minor, as in lagtrap_mapping
    std::string point;
    std::string type;
    bool local = false;
    // mounted without nosuid: whoever mounted it is trusted about file owners
    bool set_uid_counts = true;
};

// Limit for reading /proc/PID/mountinfo.
inline constexpr std::uint64_t mountinfo_limit_bytes = 4 << 20;

class MountTable {
  public:
    // An overlay is local if all its layers are. Its options name the layers by paths of the
    // process that mounted it. If the machine's own mounts (`machine`; nullptr if `text` is that
    // table) include the same overlay, the paths are the machine's. Otherwise they are looked up in
    // both tables, and the overlay is not local if any layer is not local in either. Layers that
    // neither table contains count as local. So does the machine's root file system: if that does
    // not answer, nothing works.
    [[nodiscard]] static MountTable parse(std::string_view text,
                                          const MountTable* machine = nullptr);

    // nullptr if there is none.
    [[nodiscard]] const Mount* by_id(std::uint64_t id) const;
    // The mount that contains the path, judged by names alone.
    [[nodiscard]] const Mount* holding(const std::filesystem::path& path) const;
    [[nodiscard]] const Mount* by_device(std::uint64_t device) const;
    // False if the table has a file system that asks its server even when somebody only finds a
    // file (O_PATH).
    [[nodiscard]] bool answers_to_a_look() const;

  private:
    std::vector<Mount> mounts_;
};

}  // namespace lagtrap::daemon
