// Notes which file a merge is waiting for, where the daemon can read it even if the merge itself
// hangs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::trace {

struct AwaitedFile {
    // printable; as the merge requested it: below /proc/PID/root if it belongs to a process
    std::string path;
    std::optional<std::uint32_t> uid;  // of that process
};

// The merge's side. The note is a shared mapping of a file in the capture, so updating it takes no
// system call. Not thread-safe.
class AwaitedFileNote {
  public:
    // Fails if the file cannot be created.
    [[nodiscard]] static Result<AwaitedFileNote> create(const std::filesystem::path& capture);
    AwaitedFileNote(AwaitedFileNote&& other) noexcept;
    AwaitedFileNote& operator=(AwaitedFileNote&&) = delete;
    ~AwaitedFileNote();

    // `uid` is the user of the process that the file belongs to, if any. Paths that exceed the page
    // (4096 bytes) are truncated.
    void set(const std::filesystem::path& path, std::optional<std::uint32_t> uid);
    // The merge is not waiting for a file.
    void clear();

  private:
    explicit AwaitedFileNote(char* page) : page_(page) {}
    char* page_;
};

// The daemon's side. nullopt if the merge is not, or was not, waiting for a file.
[[nodiscard]] std::optional<AwaitedFile> read_awaited_file(const std::filesystem::path& capture);

}  // namespace lagtrap::trace
