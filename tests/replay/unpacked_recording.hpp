// Unpacks a recording of tests/replay into a temporary folder.
#pragma once

#include <filesystem>

#include "trace/merge/merge.hpp"

namespace lagtrap::test {

class UnpackedRecording {
  public:
    // Throws std::runtime_error if the archive cannot be unpacked.
    explicit UnpackedRecording(const std::filesystem::path& archive);
    ~UnpackedRecording();
    UnpackedRecording(const UnpackedRecording&) = delete;
    UnpackedRecording& operator=(const UnpackedRecording&) = delete;

    // The folder as the daemon left it.
    [[nodiscard]] std::filesystem::path capture() const { return folder_ / "capture"; }
    // A merge with these options opens the recorded machine's files from the archive, and none of
    // this machine.
    [[nodiscard]] trace::MergeOptions merge_options() const;

  private:
    std::filesystem::path folder_;
};

}  // namespace lagtrap::test
