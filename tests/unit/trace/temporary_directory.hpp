// A folder that is removed, with its contents, when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lagtrap::trace {

class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string name =
            (std::filesystem::temp_directory_path() / "lagtrap-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace lagtrap::trace
