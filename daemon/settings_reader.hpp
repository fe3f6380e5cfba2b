// Reads the settings file again on another thread, because the files that settings name may be
// slow.
#pragma once

#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "settings/parser.hpp"

namespace lagtrap::daemon {

// Use it on the thread of `context`. The destructor waits for the file.
class SettingsReader {
  public:
    using Take = std::function<void(const settings::ParseOutcome& outcome)>;

    // `take` is called in `context`, which must outlive this object.
    SettingsReader(boost::asio::io_context& context, std::filesystem::path path, Take take)
        : context_(context), path_(std::move(path)), take_(std::move(take)) {}
    ~SettingsReader();
    SettingsReader(const SettingsReader&) = delete;
    SettingsReader& operator=(const SettingsReader&) = delete;

    // Begins to read, but only if it `may` and is not reading already. Otherwise remembers the
    // wish and returns false.
    [[nodiscard]] bool begin(bool may);
    // True once after begin() returned false.
    [[nodiscard]] bool take_wish() { return std::exchange(wanted_, false); }

  private:
    boost::asio::io_context& context_;
    const std::filesystem::path path_;
    const Take take_;
    bool wanted_ = false;
    bool reading_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
