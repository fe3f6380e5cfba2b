// Which file a merge is waiting for: kept where the daemon can read it when the merge itself can say nothing any more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::trace {

struct AwaitedFile {
    std::string path;  // printable; as it was asked for, below /proc/PID/root where a process has it there
    std::optional<std::uint32_t> uid;  // of that process
};

// The merge's side: a page of a file in the capture, shared, so that a note costs no system call. One thread's.
class AwaitedFileNote {
  public:
    // Errors: the file cannot be made.
    [[nodiscard]] static Result<AwaitedFileNote> create(const std::filesystem::path& capture);
    AwaitedFileNote(AwaitedFileNote&& other) noexcept;
    AwaitedFileNote& operator=(AwaitedFileNote&&) = delete;
    ~AwaitedFileNote();

    void set(const std::filesystem::path& path, std::optional<std::uint32_t> uid);
    void clear();

  private:
    explicit AwaitedFileNote(char* page) : page_(page) {}
    char* page_;
};

// The daemon's side. nullopt: the merge waits, or waited, for none.
[[nodiscard]] std::optional<AwaitedFile> read_awaited_file(const std::filesystem::path& capture);

}  // namespace lagtrap::trace
