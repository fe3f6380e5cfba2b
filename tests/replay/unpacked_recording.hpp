// A recording of tests/replay in a folder of its own, which goes away with it.
#pragma once

#include <filesystem>

#include "trace/merge/merge.hpp"

namespace lagtrap::test {

class UnpackedRecording {
  public:
    // Throws std::runtime_error where the archive cannot be unpacked.
    explicit UnpackedRecording(const std::filesystem::path& archive);
    ~UnpackedRecording();
    UnpackedRecording(const UnpackedRecording&) = delete;
    UnpackedRecording& operator=(const UnpackedRecording&) = delete;

    // The folder as the daemon left it.
    [[nodiscard]] std::filesystem::path capture() const { return folder_ / "capture"; }
    // A merge with these opens files of the recorded machine as far as the archive has them, and none of this machine.
    [[nodiscard]] trace::MergeOptions merge_options() const;

  private:
    std::filesystem::path folder_;
};

}  // namespace lagtrap::test
