#include "uploader/transfer.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "core/digest.hpp"
#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "uploader/answer.hpp"
#include "uploader/request.hpp"

namespace lagtrap::uploader {
namespace {

// SHA-256 of everything behind the descriptor, from its start. Fails if cancelled or unreadable.
Result<std::string> digest_of(int fd, const Transfer::KeepGoing& keep_going) {
    Sha256 digest;
    std::vector<char> buffer(1 << 20);
    off_t offset = 0;
    for (;;) {
        if (keep_going && !keep_going()) return make_error(ErrorKind::Timeout, "cancelled");
        const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error("read");
        if (got == 0) return digest.finish_hex();
        digest.update(buffer.data(), static_cast<std::size_t>(got));
        offset += got;
    }
}

TransferOutcome later(const std::string& message) {
    TransferOutcome outcome;
    outcome.message = printable(message);
    return outcome;
}

// What to do, for sending. Reading uses other words.
struct Hints {
    const char* refused =
        "; the server rejects the token: check the token file, and the scope of the token on the "
        "server";
    const char* redirected = "set <url> to the final address";
};

// Judges an answer that neither confirms the bundle nor shows that the server has it.
TransferOutcome judge(const Response& response, const Hints& hints = {}) {
    TransferOutcome outcome;
    outcome.cancelled = response.result == CURLE_ABORTED_BY_CALLBACK;
    if (response.result != CURLE_OK) {
        outcome.message = outcome.cancelled ? "cancelled" : printable(response.error);
        return outcome;
    }
    outcome.status = response.status;
    outcome.verdict = verdict_of_status(response.status);
    const std::time_t date =
        response.date.empty() ? -1 : curl_getdate(response.date.c_str(), nullptr);
    outcome.retry_after =
        parse_retry_after(response.retry_after, date == -1 ? std::time(nullptr) : date);
    outcome.message = fmt::format("HTTP {}", response.status);
    const std::string said = error_of_answer(response.body);
    if (!said.empty()) outcome.message += ": " + said;
    if (response.status == 401 || response.status == 403) outcome.message += hints.refused;
    if (response.status >= 300 && response.status < 400) {
        outcome.message += fmt::format(
            "; redirects are not followed (to \"{}\"): {}",
            printable(std::string_view(response.location).substr(0, 200)), hints.redirected);
    }
    if (outcome.verdict == Verdict::TryLater && outcome.retry_after)
        outcome.message += fmt::format("; retry after {} s", outcome.retry_after->count());
    return outcome;
}

// The certificate is the problem, so waiting does not help.
bool is_distrusted(CURLcode result) {
    return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
           result == CURLE_SSL_ISSUER_ERROR;
}

}  // namespace

Transfer::Transfer(Target target) : target_(std::move(target)) {
    static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (initialised == CURLE_OK) curl_ = std::shared_ptr<void>(curl_easy_init(), curl_easy_cleanup);
}
Transfer::~Transfer() = default;
Transfer::Transfer(Transfer&&) noexcept = default;
Transfer& Transfer::operator=(Transfer&&) noexcept = default;

namespace {

// Checks that the server's answer to PUT confirms what was sent.
TransferOutcome confirm(const Response& response, const std::string& digest,
                        std::uint64_t size_bytes) {
    TransferOutcome outcome = judge(response);
    if (outcome.verdict != Verdict::Delivered) return outcome;
    outcome.verdict = Verdict::TryLater;
    const auto answer = parse_answer(response.body);
    if (!answer) {
        outcome.message += ", but " + answer.error().message;
    } else if (answer->digest != digest) {
        outcome.message +=
            fmt::format(", but the server stored another digest, {}", answer->digest);
    } else if (answer->bytes != size_bytes) {
        outcome.message +=
            fmt::format(", but the server stored {} bytes of {}", answer->bytes, size_bytes);
    } else {
        outcome.verdict = Verdict::Delivered;
        outcome.message = answer->already ? "the server already had it" : "sent";
    }
    return outcome;
}

// The verdict from HEAD alone, or nullopt if PUT should follow.
std::optional<TransferOutcome> judge_head(const Response& response, const std::string& digest) {
    if (response.result != CURLE_OK) return judge(response);
    if (response.status == 200 && response.digest == digest) {
        TransferOutcome outcome;
        outcome.verdict = Verdict::Delivered;
        outcome.status = response.status;
        outcome.already_there = true;
        outcome.message = "the server already has it; nothing sent";
        return outcome;
    }
    if (concerns_all_bundles(response.status)) return judge(response);
    return std::nullopt;
}

// Checks whether a collector's answer accepts the spans.
TransferOutcome confirm_spans(const Response& response) {
    TransferOutcome outcome = judge(response);
    if (outcome.verdict != Verdict::Delivered) return outcome;
    const RefusedSpans refused = refused_spans(response.body);
    outcome.message = refused.count == 0
                          ? "sent"
                          : fmt::format("sent, but the collector refused {} span(s): {}",
                                        refused.count, printable(refused.message));
    return outcome;
}

}  // namespace

TransferOutcome Transfer::send(const std::filesystem::path& file, const spool::EntryName& name,
                               const KeepGoing& keep_going) {
    if (curl_ == nullptr) return later("cannot start libcurl");
    const auto fd = open_file(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd) return later(fd.error().message);
    struct stat facts {};
    if (::fstat(fd->get(), &facts) != 0 || !S_ISREG(facts.st_mode))
        return later("not a regular file");
    const auto size_bytes = static_cast<std::uint64_t>(facts.st_size);
    const auto digest = digest_of(fd->get(), keep_going);
    if (!digest) {
        TransferOutcome outcome = later(digest.error().message);
        outcome.cancelled = digest.error().kind == ErrorKind::Timeout;
        return outcome;
    }
    if (!digest->starts_with(name.digest_prefix)) {
        TransferOutcome outcome =
            later("the file's digest is " + digest->substr(0, 16) +
                  "..., which differs from the one in its name: it was damaged in the spool");
        outcome.verdict = Verdict::Rejected;
        return outcome;
    }

    Request request(static_cast<CURL*>(curl_.get()), target_,
                    entry_url(target_, name.kind, *digest), keep_going);
    if (const Status authorised = request.authorise(); !authorised)
        return later(authorised.error().message);
    if (name.kind == spool::EntryKind::Spans) {
        request.add_header("Content-Type: application/x-protobuf");
        return confirm_spans(request.post(fd->get(), size_bytes));
    }
    if (name.kind == spool::EntryKind::Bundle) request.add_header("X-Lagtrap-Session: " + name.id);
    KILL_POINT("transfer.begin");
    if (auto outcome = judge_head(request.head(), *digest)) return *outcome;
    KILL_POINT("transfer.asked");
    request.add_header("Content-Type: application/zstd");
    const Response response = request.put(fd->get(), size_bytes);
    KILL_POINT("transfer.answered");
    return confirm(response, *digest, size_bytes);
}

namespace {

// Why a GET has no result.
Error failed_to_get(const Response& response, const std::string& url) {
    const TransferOutcome outcome = judge(response, {"", "use this address"});
    const auto kind = response.status == 404                             ? ErrorKind::NotFound
                      : response.status == 401 || response.status == 403 ? ErrorKind::Denied
                      : is_distrusted(response.result)                   ? ErrorKind::Unsupported
                      : outcome.cancelled                                ? ErrorKind::Timeout
                      : outcome.verdict == Verdict::TryLater             ? ErrorKind::Busy
                                                                         : ErrorKind::Invalid;
    return make_error(kind, url + ": " + outcome.message);
}

}  // namespace

Result<std::string> Transfer::get(const std::string& path, std::size_t limit_bytes,
                                  const KeepGoing& keep_going) {
    if (curl_ == nullptr) return make_error(ErrorKind::System, "cannot start libcurl");
    Request request(static_cast<CURL*>(curl_.get()), target_, target_.url + path, keep_going);
    TRY(request.authorise());
    Response response = request.get(limit_bytes);
    if (response.result == CURLE_OK && response.status == 200) return std::move(response.body);
    return failed_to_get(response, target_.url);
}

Result<Download> Transfer::download(const std::string& path, int file, std::uint64_t limit_bytes,
                                    const KeepGoing& keep_going) {
    if (curl_ == nullptr) return make_error(ErrorKind::System, "cannot start libcurl");
    Request request(static_cast<CURL*>(curl_.get()), target_, target_.url + path, keep_going);
    TRY(request.authorise());
    Sink sink{file, limit_bytes};
    const Response response = request.get_into(sink);
    if (response.result == CURLE_OK && response.status == 200)
        return Download{sink.bytes, sink.digest.finish_hex()};
    if (sink.problem) return *sink.problem;
    return failed_to_get(response, target_.url);
}

}  // namespace lagtrap::uploader
