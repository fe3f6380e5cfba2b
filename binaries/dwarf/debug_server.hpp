// Asks debuginfod servers for debug files. A separate library (lagtrap_debug_server), to keep
// network code out of processes that must not have it. Loads libdebuginfod on first use; it need
// not be installed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::binaries {

struct DebugServerOptions {
    std::string urls;                    // separated by spaces; empty for $DEBUGINFOD_URLS
    std::filesystem::path cache_folder;  // empty for libdebuginfod's (~/.cache/debuginfod_client)
    // Timeout for a server without an answer, or slower than 100 KiB/s.
    std::chrono::seconds stall_limit{20};
    std::chrono::seconds file_limit{600};   // per file
    std::uint64_t file_bytes = 1ULL << 30;  // per file
    // Called regularly while waiting, with the bytes received and expected (0 if unknown). Return
    // false to stop.
    std::function<bool(std::uint64_t bytes, std::uint64_t total_bytes)> progress;
};

// A client of debuginfod servers. Not thread-safe.
class DebugServer {
  public:
    // Loads libdebuginfod and sets its environment variables in this process, which is the only way
    // to configure it. Call while there is only one thread. ErrorKind::Unsupported if libdebuginfod
    // is not installed, Invalid if no server is configured.
    [[nodiscard]] static Result<DebugServer> make(DebugServerOptions options);
    DebugServer(DebugServer&&) noexcept;
    DebugServer& operator=(DebugServer&&) noexcept;
    ~DebugServer();

    // Finds a program's debug file by its build id, in lower-case hexadecimal. Returns its path in
    // the cache. ErrorKind::NotFound if no server has it; Timeout; TooLarge; System if no server
    // can be reached; Vanished if `progress` returned false; Invalid if it is not a build id. After
    // two files in a row without an answer from any server, it no longer asks and returns Busy.
    [[nodiscard]] Result<std::filesystem::path> find(const std::string& build_id);

  private:
    struct State;
    explicit DebugServer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Makes a function for DebugFileSearch::ask_servers. `failed` may be empty; it receives each error
// except NotFound, including that of make().
[[nodiscard]] std::function<std::optional<std::filesystem::path>(const std::string& build_id)>
ask_debug_servers(DebugServerOptions options = {}, std::function<void(const Error&)> failed = {});

}  // namespace lagtrap::binaries
