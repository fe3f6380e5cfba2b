// Asks debuginfod servers for debug files. A library of its own (lagtrap_debug_server), so that what must have no
// network code has none: libdebuginfod is loaded when it is first needed, and need not be installed.
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
    std::string urls;                    // with spaces between; empty: those of $DEBUGINFOD_URLS
    std::filesystem::path cache_folder;  // empty: libdebuginfod's (~/.cache/debuginfod_client)
    // Without an answer, or with less than 100 KiB a second, for so long, a server is given up.
    std::chrono::seconds stall_limit{20};
    std::chrono::seconds file_limit{600};   // for one file
    std::uint64_t file_bytes = 1ULL << 30;  // of one file
    // Called now and then while waiting, with what has come and what will (0: not known). False: stop.
    std::function<bool(std::uint64_t bytes, std::uint64_t total_bytes)> progress;
};

// Not for several threads at once.
class DebugServer {
  public:
    // Loads libdebuginfod, and sets its environment variables in this process (it has no other way to be told): to be
    // called while there is one thread. ErrorKind::Unsupported: libdebuginfod is not installed; Invalid: no server.
    [[nodiscard]] static Result<DebugServer> make(DebugServerOptions options);
    DebugServer(DebugServer&&) noexcept;
    DebugServer& operator=(DebugServer&&) noexcept;
    ~DebugServer();

    // The debug file of a program, by its build id in lower-case hexadecimal: its path in the cache.
    // ErrorKind::NotFound: no server has it; Timeout; TooLarge; System: no server can be reached; Vanished: `progress`
    // said stop; Invalid: not a build id. After two files in a row for which no server answered, none is asked again:
    // Busy.
    [[nodiscard]] Result<std::filesystem::path> find(const std::string& build_id);

  private:
    struct State;
    explicit DebugServer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// For DebugFileSearch::ask_servers. `failed` hears of each error but NotFound, that of make() too, and may be empty.
[[nodiscard]] std::function<std::optional<std::filesystem::path>(const std::string& build_id)> ask_debug_servers(
    DebugServerOptions options = {}, std::function<void(const Error&)> failed = {});

}  // namespace lagtrap::binaries
