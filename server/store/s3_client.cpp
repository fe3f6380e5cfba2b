#include "server/store/s3_client.hpp"

#include <curl/curl.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

namespace lagtrap::server {
namespace {

constexpr int attempts = 4;
constexpr auto first_pause = std::chrono::milliseconds(200);
constexpr long connect_timeout_s = 10;
// A transfer slower than a byte per second for this long is aborted.
constexpr long stalled_after_s = 60;
constexpr std::size_t idle_clients_limit = 16;
constexpr std::size_t error_limit_bytes = 4096;
// SHA-256 of an empty body.
constexpr const char* empty_sha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct Transfer {
    const S3Request& request;
    CURL* handle;
    S3Answer answer{};
    std::uint64_t sent_bytes = 0;
    bool fresh = true;
    bool stopped = false;
    std::string error_body{};
};

std::size_t read_body(char* into, std::size_t size, std::size_t count, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    const ssize_t got = ::pread(transfer.request.upload_fd, into, size * count,
                                static_cast<off_t>(transfer.sent_bytes));
    if (got < 0) return CURL_READFUNC_ABORT;
    transfer.sent_bytes += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
}

int seek_body(void* user, curl_off_t offset, int) {
    static_cast<Transfer*>(user)->sent_bytes = static_cast<std::uint64_t>(offset);
    return CURL_SEEKFUNC_OK;
}

std::size_t write_body(char* data, std::size_t size, std::size_t count, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    const std::size_t bytes = size * count;
    long status = 0;
    curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300) {
        if (transfer.error_body.size() < error_limit_bytes) transfer.error_body.append(data, bytes);
        return bytes;
    }
    if (!transfer.request.take) return bytes;
    transfer.stopped = !transfer.request.take(data, bytes, transfer.fresh);
    transfer.fresh = false;
    return transfer.stopped ? 0 : bytes;
}

std::size_t read_header(char* data, std::size_t size, std::size_t count, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    const std::string_view line(data, size * count);
    constexpr std::string_view range = "content-range:";
    if (line.size() > range.size() &&
        curl_strnequal(line.data(), range.data(), range.size()) != 0) {
        const auto slash = line.find('/');
        if (slash != std::string_view::npos)
            transfer.answer.total_bytes =
                std::strtoull(std::string(line.substr(slash + 1)).c_str(), nullptr, 10);
    }
    return line.size();
}

std::string code_of(const std::string& xml) {
    const auto begin = xml.find("<Code>");
    const auto end = xml.find("</Code>", begin);
    if (begin == std::string::npos || end == std::string::npos) return {};
    std::string code;
    for (const char letter : xml.substr(begin + 6, end - begin - 6))
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0 && code.size() < 64)
            code += letter;
    return code;
}

void set_method(CURL* handle, Transfer& transfer) {
    const S3Request& request = transfer.request;
    if (request.method == "HEAD") curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    if (request.method == "DELETE") curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "DELETE");
    if (request.method != "PUT") return;
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                     static_cast<curl_off_t>(request.upload_bytes));
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, read_body);
    curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek_body);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, &transfer);
}

}  // namespace

S3Client::~S3Client() {
    for (void* handle : idle_) curl_easy_cleanup(handle);
}

void* S3Client::take_handle() {
    // Not thread-safe, and needed before the first handle.
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (ready != CURLE_OK) return nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            void* handle = idle_.back();
            idle_.pop_back();
            return handle;
        }
    }
    return curl_easy_init();
}

void S3Client::give_back(void* handle) {
    curl_easy_reset(handle);
    const std::lock_guard lock(mutex_);
    if (idle_.size() < idle_clients_limit) {
        idle_.push_back(handle);
    } else {
        curl_easy_cleanup(handle);
    }
}

Result<S3Answer> S3Client::send_once(const S3Request& request) {
    CURL* handle = take_handle();
    if (handle == nullptr) return make_error(ErrorKind::System, "libcurl does not start");
    Transfer transfer{request, handle};
    const std::string address = place_.endpoint + "/" + place_.bucket +
                                (request.key.empty() ? "" : "/" + request.key) +
                                (request.query.empty() ? "" : "?" + request.query);
    curl_slist* headers = nullptr;
    const auto add = [&](const std::string& header) {
        headers = curl_slist_append(headers, header.c_str());
    };
    for (const std::string& header : request.headers) add(header);
    add("x-amz-content-sha256: " +
        (request.payload_sha256.empty() ? std::string(empty_sha256) : request.payload_sha256));
    if (!place_.session_token.empty()) add("x-amz-security-token: " + place_.session_token);
    const std::string signature = "aws:amz:" + place_.region + ":s3",
                      secret = place_.key_id + ":" + place_.secret;
    curl_easy_setopt(handle, CURLOPT_URL, address.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, connect_timeout_s);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, stalled_after_s);
    curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, signature.c_str());
    curl_easy_setopt(handle, CURLOPT_USERPWD, secret.c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, write_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
    set_method(handle, transfer);
    const CURLcode code = curl_easy_perform(handle);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
    curl_off_t length = -1;
    curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length >= 0) transfer.answer.length_bytes = static_cast<std::uint64_t>(length);
    transfer.answer.error_code = code_of(transfer.error_body);
    curl_slist_free_all(headers);
    give_back(handle);
    if (code == CURLE_OK || transfer.stopped) return transfer.answer;
    return make_error(ErrorKind::Busy, place_.endpoint + ": " + curl_easy_strerror(code));
}

Result<S3Answer> S3Client::send(const S3Request& request) {
    thread_local std::minstd_rand random(std::random_device{}());
    auto pause = first_pause;
    for (int attempt = 1;; ++attempt) {
        auto answer = send_once(request);
        const bool unwell =
            !answer || answer->status >= 500 || answer->status == 408 || answer->status == 429;
        if (!unwell) return answer;
        if (attempt == attempts)
            return answer ? Result<S3Answer>(s3_error(request.method, *answer)) : answer;
        // Full jitter, so that servers which were refused together do not retry together.
        std::this_thread::sleep_for(pause * (random() % 1000) / 1000);
        pause *= 3;
    }
}

Error s3_error(const std::string& doing, const S3Answer& answer) {
    Error error = make_error(ErrorKind::System,
                             "S3 store: " + doing + ": status " + std::to_string(answer.status) +
                                 (answer.error_code.empty() ? "" : " " + answer.error_code));
    if (answer.status == 403) error.kind = ErrorKind::Denied;
    if (answer.status == 404) error.kind = ErrorKind::NotFound;
    if (answer.status >= 500 || answer.status == 429) error.kind = ErrorKind::Busy;
    if (answer.status == 507 || answer.error_code == "QuotaExceeded") error.system_errno = ENOSPC;
    return error;
}

}  // namespace lagtrap::server
