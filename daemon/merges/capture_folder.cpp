#include "daemon/merges/capture_folder.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <system_error>

#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

constexpr const char* set_aside_name = "set-aside.txt";
constexpr std::uint64_t reason_limit_bytes = 4096;
constexpr const char* done_suffix = ".done";
constexpr const char* renewed_suffix = ".renewed";

fs::path hidden_beside(const fs::path& capture, const char* suffix) {
    return capture.parent_path() / ("." + capture.filename().string() + suffix);
}

Status as_status(const std::error_code& failed, const fs::path& path) {
    return failed ? Status(system_error(path.string(), failed.value())) : success();
}

}  // namespace

std::uint64_t bytes_below(const fs::path& folder) {
    std::uint64_t bytes = 0;
    std::error_code failed;
    fs::recursive_directory_iterator files(folder, failed);
    for (; !failed && files != fs::recursive_directory_iterator(); files.increment(failed)) {
        std::error_code ignored;
        if (files->is_regular_file(ignored)) bytes += files->file_size(ignored);
    }
    return bytes;
}

Status renew_folder(const fs::path& capture) {
    const fs::path fresh = hidden_beside(capture, renewed_suffix);
    std::error_code failed;
    fs::remove_all(fresh, failed);
    // Hard links: the files stay the same.
    if (!failed)
        fs::copy(capture, fresh, fs::copy_options::recursive | fs::copy_options::create_hard_links,
                 failed);
    if (!failed) fs::permissions(fresh, fs::status(capture, failed).permissions(), failed);
    if (failed) {
        const Status status = as_status(failed, fresh);
        fs::remove_all(fresh, failed);
        return status;
    }
    if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, capture.c_str(), RENAME_EXCHANGE) != 0)
        return system_error("replace " + capture.string());
    KILL_POINT("renewal.exchanged");
    TRY(sync_directory(capture.parent_path()));
    fs::remove_all(fresh, failed);
    return as_status(failed, fresh);
}

Status set_aside(const fs::path& capture, std::string_view reason) {
    return write_file_durably(capture / set_aside_name,
                              printable(reason.substr(0, reason_limit_bytes / 8)) + "\n", 0640);
}

std::optional<std::string> reason_set_aside(const fs::path& capture) {
    const auto text = read_regular_file(capture / set_aside_name, reason_limit_bytes);
    if (text) return printable(text->substr(0, text->find('\n')));
    if (text.error().kind == ErrorKind::NotFound) return std::nullopt;
    return text.error().message;
}

bool is_leftover(std::string_view name) {
    return name.starts_with('.') && (name.ends_with(done_suffix) || name.ends_with(renewed_suffix));
}

Status remove_capture(const fs::path& capture) {
    const fs::path hidden = hidden_beside(capture, done_suffix);
    std::error_code failed;
    fs::rename(capture, hidden, failed);
    KILL_POINT("capture.dropped");
    if (!failed) fs::remove_all(hidden, failed);
    return as_status(failed, capture);
}

}  // namespace lagtrap::daemon
