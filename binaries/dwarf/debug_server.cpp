#include "binaries/dwarf/debug_server.hpp"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/files.hpp"

namespace lagtrap::binaries {
namespace {

constexpr int max_silences = 2;

// The functions of libdebuginfod, which is never unloaded.
struct Library {
    decltype(&::debuginfod_begin) begin = nullptr;
    decltype(&::debuginfod_end) end = nullptr;
    decltype(&::debuginfod_find_debuginfo) find_debuginfo = nullptr;
    decltype(&::debuginfod_set_progressfn) set_progress = nullptr;
    decltype(&::debuginfod_set_verbose_fd) set_verbose_fd = nullptr;
    decltype(&::debuginfod_set_user_data) set_user_data = nullptr;
    decltype(&::debuginfod_get_user_data) get_user_data = nullptr;
};

template <typename Function>
bool look_up(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
}

Result<const Library*> load_library() {
    static Library library;
    static const bool complete = [] {
        void* handle = ::dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
        return handle != nullptr && look_up(handle, "debuginfod_begin", library.begin) &&
               look_up(handle, "debuginfod_end", library.end) &&
               look_up(handle, "debuginfod_find_debuginfo", library.find_debuginfo) &&
               look_up(handle, "debuginfod_set_progressfn", library.set_progress) &&
               look_up(handle, "debuginfod_set_verbose_fd", library.set_verbose_fd) &&
               look_up(handle, "debuginfod_set_user_data", library.set_user_data) &&
               look_up(handle, "debuginfod_get_user_data", library.get_user_data);
    }();
    if (complete) return &library;
    return make_error(ErrorKind::Unsupported,
                      "cannot use debuginfod: " DEBUGINFOD_SONAME
                      " is not installed; on Debian it is in the package libdebuginfod1");
}

bool is_build_id(const std::string& text) {
    return text.size() >= 4 && text.size() <= 128 && text.size() % 2 == 0 &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// set once loaded; the progress callback is a plain function and needs it
const Library* loaded = nullptr;

}  // namespace

struct DebugServer::State {
    DebugServerOptions options;
    UniqueFd nowhere;
    debuginfod_client* client = nullptr;
    std::string servers;
    int silences = 0;
    // For the file being requested:
    std::chrono::steady_clock::time_point began;
    std::optional<ErrorKind> stopped;

    ~State() {
        if (client != nullptr) loaded->end(client);
    }

    [[nodiscard]] bool goes_on(long bytes, long total) {
        const auto passed = std::chrono::steady_clock::now() - began;
        const auto got = static_cast<std::uint64_t>(std::max(bytes, 0L));
        const auto expected = static_cast<std::uint64_t>(std::max(total, 0L));
        if (passed > options.file_limit || (got == 0 && passed > options.stall_limit))
            stopped = ErrorKind::Timeout;
        if (got > options.file_bytes || expected > options.file_bytes)
            stopped = ErrorKind::TooLarge;
        if (options.progress && !options.progress(got, expected)) stopped = ErrorKind::Vanished;
        return !stopped;
    }

    [[nodiscard]] Error error_of(int number, const std::string& build_id) const;
};

namespace {

void set_variable(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

}  // namespace

Result<DebugServer> DebugServer::make(DebugServerOptions options) {
    TRY_ASSIGN(loaded, load_library());
    const char* known = std::getenv(DEBUGINFOD_URLS_ENV_VAR);
    auto state = std::make_unique<State>();
    state->servers = !options.urls.empty() ? options.urls : known != nullptr ? known : "";
    if (state->servers.find_first_not_of(' ') == std::string::npos)
        return make_error(
            ErrorKind::Invalid,
            "no debuginfod server configured; set the environment variable DEBUGINFOD_URLS");
    set_variable(DEBUGINFOD_URLS_ENV_VAR, state->servers);
    if (!options.cache_folder.empty())
        set_variable(DEBUGINFOD_CACHE_PATH_ENV_VAR, options.cache_folder.string());
    set_variable(DEBUGINFOD_TIMEOUT_ENV_VAR,
                 std::to_string(std::max<std::int64_t>(options.stall_limit.count(), 1)));
    set_variable(DEBUGINFOD_MAXSIZE_ENV_VAR, std::to_string(options.file_bytes));
    set_variable(DEBUGINFOD_RETRY_LIMIT_ENV_VAR, "1");
    state->options = std::move(options);
    state->client = loaded->begin();
    if (state->client == nullptr)
        return make_error(ErrorKind::System, "cannot initialize libdebuginfod");
    // Otherwise libdebuginfod 0.188 prints to descriptor -1, and glibc's dprintf() leaks 8 KiB each
    // time.
    TRY_ASSIGN(state->nowhere, open_file("/dev/null", O_WRONLY));
    loaded->set_verbose_fd(state->client, state->nowhere.get());
    loaded->set_user_data(state->client, state.get());
    loaded->set_progress(state->client, [](debuginfod_client* client, long bytes, long total) {
        return static_cast<State*>(loaded->get_user_data(client))->goes_on(bytes, total) ? 0 : 1;
    });
    return DebugServer(std::move(state));
}

Error DebugServer::State::error_of(int number, const std::string& build_id) const {
    const std::string doing = "debug information of build id " + build_id + " from " + servers;
    const auto limit = [&](auto seconds) { return std::to_string(seconds.count()) + " s"; };
    ErrorKind kind = stopped.value_or(ErrorKind::System);
    if (!stopped && number == ENOENT) kind = ErrorKind::NotFound;
    if (!stopped && (number == ETIME || number == ETIMEDOUT)) kind = ErrorKind::Timeout;
    if (!stopped && number == EFBIG) kind = ErrorKind::TooLarge;
    switch (kind) {
        case ErrorKind::NotFound: return make_error(kind, doing + ": no server has it");
        case ErrorKind::Vanished: return make_error(kind, doing + ": stopped");
        case ErrorKind::Timeout:
            return make_error(kind, doing + ": no answer within " + limit(options.stall_limit) +
                                        ", or not all within " + limit(options.file_limit));
        case ErrorKind::TooLarge:
            return make_error(kind, doing + ": has more than " +
                                        std::to_string(options.file_bytes >> 20) +
                                        " MiB, the limit");
        default: return system_error(doing, number);
    }
}

Result<std::filesystem::path> DebugServer::find(const std::string& build_id) {
    if (!is_build_id(build_id))
        return make_error(ErrorKind::Invalid, "\"" + build_id + "\" is not a build id");
    if (state_->silences >= max_silences)
        return make_error(
            ErrorKind::Busy,
            "debuginfod servers are no longer asked, because none answered: " + state_->servers);
    state_->began = std::chrono::steady_clock::now();
    state_->stopped.reset();
    char* path = nullptr;
    const int answer = loaded->find_debuginfo(
        state_->client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
    const std::unique_ptr<char, decltype(&std::free)> owned(path, &std::free);
    if (answer < 0) {
        Error error = state_->error_of(-answer, build_id);
        const bool silent = error.kind == ErrorKind::System || error.kind == ErrorKind::Timeout;
        state_->silences = silent ? state_->silences + 1 : 0;
        return error;
    }
    ::close(answer);
    state_->silences = 0;
    return std::filesystem::path(path == nullptr ? "" : path);
}

DebugServer::DebugServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DebugServer::DebugServer(DebugServer&&) noexcept = default;
DebugServer& DebugServer::operator=(DebugServer&&) noexcept = default;
DebugServer::~DebugServer() = default;

std::function<std::optional<std::filesystem::path>(const std::string&)> ask_debug_servers(
    DebugServerOptions options, std::function<void(const Error&)> failed) {
    std::shared_ptr<DebugServer> server;
    if (auto made = DebugServer::make(std::move(options))) {
        server = std::make_shared<DebugServer>(std::move(made).value());
    } else if (failed) {
        failed(made.error());
    }
    return [server, failed = std::move(failed)](
               const std::string& build_id) -> std::optional<std::filesystem::path> {
        if (!server) return std::nullopt;
        auto path = server->find(build_id);
        if (path) return std::move(path).value();
        if (failed && path.error().kind != ErrorKind::NotFound) failed(path.error());
        return std::nullopt;
    };
}

}  // namespace lagtrap::binaries
