#include "uploader/transfer.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "core/digest.hpp"
#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "uploader/answer.hpp"

namespace lagtrap::uploader {
namespace {

constexpr std::size_t header_limit_bytes = 64 * 1024;
constexpr long upload_buffer_bytes = 256 * 1024;

// The server's answer, as far as it was complete.
struct Response {
    CURLcode result = CURLE_OK;
    long status = 0;
    std::string error;  // libcurl's
    std::string body;
    std::string digest;  // X-Lagtrap-Digest
    std::string retry_after;
    std::string date;
    std::string location;
    std::size_t header_bytes = 0;
};

// State shared by libcurl's callbacks, for one request.
struct Exchange {
    Response response;
    int body_fd = -1;
    std::size_t limit_bytes = answer_limit_bytes;  // of the server's answer
    const Transfer::KeepGoing* keep_going = nullptr;
};

void take_header(Response& response, std::string_view line) {
    // A new status line follows "100 Continue"; earlier headers no longer count.
    if (line.starts_with("HTTP/")) {
        response.digest.clear();
        response.retry_after.clear();
        response.date.clear();
        response.location.clear();
        return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(line.substr(0, colon));
    for (char& letter : name) letter = (letter >= 'A' && letter <= 'Z') ? static_cast<char>(letter + 32) : letter;
    const std::string_view value = trimmed(line.substr(colon + 1), " \t\r\n");
    if (name == "x-lagtrap-digest") response.digest = value;
    if (name == "retry-after") response.retry_after = value;
    if (name == "date") response.date = value;
    if (name == "location") response.location = value;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* context) {
    Response& response = static_cast<Exchange*>(context)->response;
    response.header_bytes += size * count;
    if (response.header_bytes > header_limit_bytes) return 0;
    take_header(response, std::string_view(data, size * count));
    return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* context) {
    auto& exchange = *static_cast<Exchange*>(context);
    Response& response = exchange.response;
    if (response.body.size() + size * count > exchange.limit_bytes) return 0;
    response.body.append(data, size * count);
    return size * count;
}

std::size_t on_read(char* data, std::size_t size, std::size_t count, void* context) {
    for (;;) {
        const ssize_t got = ::read(static_cast<Exchange*>(context)->body_fd, data, size * count);
        KILL_POINT("transfer.sending");
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) return CURL_READFUNC_ABORT;
    }
}

int on_seek(void* context, curl_off_t offset, int origin) {
    const int fd = static_cast<Exchange*>(context)->body_fd;
    return ::lseek(fd, offset, origin) < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto* keep_going = static_cast<Exchange*>(context)->keep_going;
    return *keep_going && !(*keep_going)() ? 1 : 0;
}

void set_common_options(CURL* curl, const Target& target, Exchange& exchange) {
    curl_easy_reset(curl);
    const std::string protocols = target.url.starts_with("https:") ? "https" : "http";
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, protocols.c_str());
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    // Do not wait for the name lookup thread after a timeout. That took minutes, in which neither a
    // stop request nor the watchdog was served.
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "lagtrap-uploader/" LAGTRAP_VERSION);
    // An empty text disables the proxy, whatever the environment says.
    curl_easy_setopt(curl, CURLOPT_PROXY, target.proxy.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!target.ca_file.empty()) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, target.ca_file.c_str());
        curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
    }
    const auto to_long = [](auto value) { return static_cast<long>(value.count()); };
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, to_long(target.connect_timeout));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(target.slowest_bytes_per_second));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, to_long(target.stall_timeout));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     to_long(std::chrono::duration_cast<std::chrono::milliseconds>(target.timeout)));
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
}

void set_body_options(CURL* curl, Exchange& exchange, std::uint64_t size_bytes) {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size_bytes));
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, &on_read);
    curl_easy_setopt(curl, CURLOPT_READDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, &on_seek);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer_bytes);
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 2000L);
}

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
        "; the server rejects the token: check the token file, and the scope of the token on the server";
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
    const std::time_t date = response.date.empty() ? -1 : curl_getdate(response.date.c_str(), nullptr);
    outcome.retry_after = parse_retry_after(response.retry_after, date == -1 ? std::time(nullptr) : date);
    outcome.message = fmt::format("HTTP {}", response.status);
    const std::string said = error_of_answer(response.body);
    if (!said.empty()) outcome.message += ": " + said;
    if (response.status == 401 || response.status == 403) outcome.message += hints.refused;
    if (response.status >= 300 && response.status < 400) {
        outcome.message += fmt::format("; redirects are not followed (to \"{}\"): {}",
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

// The handle, with everything that the requests for one bundle share.
class Transfer::Request {
  public:
    Request(CURL* curl, const Target& target, std::string url, const KeepGoing& keep_going)
        : curl_(curl), target_(target), url_(std::move(url)), keep_going_(keep_going) {}

    // Reads the token file every time.
    Status authorise() {
        if (target_.token_file.empty()) return success();
        TRY_ASSIGN(const std::string token, read_token(target_.token_file));
        add_header("Authorization: Bearer " + token);
        return success();
    }
    void add_header(const std::string& line) {
        curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
        if (longer == nullptr) return;
        static_cast<void>(headers_.release());
        headers_.reset(longer);
    }
    Response get(std::size_t limit_bytes) {
        Exchange exchange;
        exchange.limit_bytes = limit_bytes;
        set_common_options(curl_, target_, exchange);
        return perform(exchange);
    }
    Response head() {
        Exchange exchange;
        set_common_options(curl_, target_, exchange);
        curl_easy_setopt(curl_, CURLOPT_NOBODY, 1L);
        return perform(exchange);
    }
    Response put(int body_fd, std::uint64_t size_bytes) {
        Exchange exchange;
        exchange.body_fd = body_fd;
        set_common_options(curl_, target_, exchange);
        set_body_options(curl_, exchange, size_bytes);
        return perform(exchange);
    }

    Response post(int body_fd, std::uint64_t size_bytes) {
        Exchange exchange;
        exchange.body_fd = body_fd;
        set_common_options(curl_, target_, exchange);
        set_body_options(curl_, exchange, size_bytes);
        curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, "POST");
        return perform(exchange);
    }

  private:
    struct FreeList {
        void operator()(curl_slist* list) const { curl_slist_free_all(list); }
    };
    Response perform(Exchange& exchange) {
        std::array<char, CURL_ERROR_SIZE> error{};
        exchange.keep_going = &keep_going_;
        curl_easy_setopt(curl_, CURLOPT_URL, url_.c_str());
        curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_.get());
        curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, error.data());
        exchange.response.result = curl_easy_perform(curl_);
        curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, nullptr);
        curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &exchange.response.status);
        exchange.response.error = error[0] != '\0' ? error.data() : curl_easy_strerror(exchange.response.result);
        if (exchange.response.result == CURLE_WRITE_ERROR) {
            exchange.response.error = fmt::format("the server's answer is longer than {} bytes", exchange.limit_bytes);
        }
        return std::move(exchange.response);
    }

    CURL* curl_;
    const Target& target_;
    std::string url_;
    const KeepGoing& keep_going_;
    std::unique_ptr<curl_slist, FreeList> headers_;
};

Transfer::Transfer(Target target) : target_(std::move(target)) {
    static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (initialised == CURLE_OK) curl_ = std::shared_ptr<void>(curl_easy_init(), curl_easy_cleanup);
}
Transfer::~Transfer() = default;
Transfer::Transfer(Transfer&&) noexcept = default;
Transfer& Transfer::operator=(Transfer&&) noexcept = default;

namespace {

// Checks that the server's answer to PUT confirms what was sent.
TransferOutcome confirm(const Response& response, const std::string& digest, std::uint64_t size_bytes) {
    TransferOutcome outcome = judge(response);
    if (outcome.verdict != Verdict::Delivered) return outcome;
    outcome.verdict = Verdict::TryLater;
    const auto answer = parse_answer(response.body);
    if (!answer) {
        outcome.message += ", but " + answer.error().message;
    } else if (answer->digest != digest) {
        outcome.message += fmt::format(", but the server stored another digest, {}", answer->digest);
    } else if (answer->bytes != size_bytes) {
        outcome.message += fmt::format(", but the server stored {} bytes of {}", answer->bytes, size_bytes);
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
    outcome.message = refused.count == 0 ? "sent"
                                         : fmt::format("sent, but the collector refused {} span(s): {}", refused.count,
                                                       printable(refused.message));
    return outcome;
}

}  // namespace

TransferOutcome Transfer::send(const std::filesystem::path& file, const spool::EntryName& name,
                               const KeepGoing& keep_going) {
    if (curl_ == nullptr) return later("cannot start libcurl");
    const auto fd = open_file(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd) return later(fd.error().message);
    struct stat facts {};
    if (::fstat(fd->get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return later("not a regular file");
    const auto size_bytes = static_cast<std::uint64_t>(facts.st_size);
    const auto digest = digest_of(fd->get(), keep_going);
    if (!digest) {
        TransferOutcome outcome = later(digest.error().message);
        outcome.cancelled = digest.error().kind == ErrorKind::Timeout;
        return outcome;
    }
    if (!digest->starts_with(name.digest_prefix)) {
        TransferOutcome outcome = later("the file's digest is " + digest->substr(0, 16) +
                                        "..., which differs from the one in its name: it was damaged in the spool");
        outcome.verdict = Verdict::Rejected;
        return outcome;
    }

    Request request(static_cast<CURL*>(curl_.get()), target_, entry_url(target_, name.kind, *digest), keep_going);
    if (const Status authorised = request.authorise(); !authorised) return later(authorised.error().message);
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

Result<std::string> Transfer::get(const std::string& path, std::size_t limit_bytes, const KeepGoing& keep_going) {
    if (curl_ == nullptr) return make_error(ErrorKind::System, "cannot start libcurl");
    Request request(static_cast<CURL*>(curl_.get()), target_, target_.url + path, keep_going);
    TRY(request.authorise());
    Response response = request.get(limit_bytes);
    if (response.result == CURLE_OK && response.status == 200) return std::move(response.body);
    const TransferOutcome outcome = judge(response, {"", "use this address"});
    const auto kind = response.status == 404                             ? ErrorKind::NotFound
                      : response.status == 401 || response.status == 403 ? ErrorKind::Denied
                      : is_distrusted(response.result)                   ? ErrorKind::Unsupported
                      : outcome.cancelled                                ? ErrorKind::Timeout
                      : outcome.verdict == Verdict::TryLater             ? ErrorKind::Busy
                                                                         : ErrorKind::Invalid;
    return make_error(kind, target_.url + ": " + outcome.message);
}

}  // namespace lagtrap::uploader
