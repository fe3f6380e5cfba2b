#include "uploader/request.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "uploader/answer.hpp"

namespace lagtrap::uploader {

// State shared by libcurl's callbacks, for one request.
struct Exchange {
    Response response;
    int body_fd = -1;
    Sink* sink = nullptr;
    std::size_t limit_bytes = answer_limit_bytes;  // of the server's answer
    const Transfer::KeepGoing* keep_going = nullptr;
};

namespace {

constexpr std::size_t header_limit_bytes = 64 * 1024;
constexpr long upload_buffer_bytes = 256 * 1024;

void take_header(Response& response, std::string_view line) {
    // A new status line follows "100 Continue"; earlier headers no longer count.
    if (line.starts_with("HTTP/")) {
        response.found = line.substr(std::min(line.find(' '), line.size())).starts_with(" 200");
        response.digest.clear();
        response.retry_after.clear();
        response.date.clear();
        response.location.clear();
        return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(line.substr(0, colon));
    for (char& letter : name)
        letter = (letter >= 'A' && letter <= 'Z') ? static_cast<char>(letter + 32) : letter;
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

// Returns the bytes taken; fewer than `size` abort the transfer.
std::size_t fill(Sink& sink, const char* data, std::size_t size) {
    if (size > sink.limit_bytes - sink.bytes) return 0;
    if (const Status written = write_all(sink.file, data, size); !written) {
        sink.problem = written.error();
        return 0;
    }
    sink.digest.update(data, size);
    sink.bytes += size;
    return size;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* context) {
    auto& exchange = *static_cast<Exchange*>(context);
    Response& response = exchange.response;
    if (exchange.sink != nullptr && response.found) return fill(*exchange.sink, data, size * count);
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
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT,
                     static_cast<long>(target.slowest_bytes_per_second));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, to_long(target.stall_timeout));
    curl_easy_setopt(
        curl, CURLOPT_TIMEOUT_MS,
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

}  // namespace

Status Request::authorise() {
    if (target_.token_file.empty()) return success();
    TRY_ASSIGN(const std::string token, read_token(target_.token_file));
    add_header("Authorization: Bearer " + token);
    return success();
}

void Request::add_header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) return;
    static_cast<void>(headers_.release());
    headers_.reset(longer);
}

Response Request::get(std::size_t limit_bytes) {
    Exchange exchange;
    exchange.limit_bytes = limit_bytes;
    set_common_options(curl_, target_, exchange);
    return perform(exchange);
}

Response Request::get_into(Sink& sink) {
    Exchange exchange;
    exchange.sink = &sink;
    set_common_options(curl_, target_, exchange);
    Response response = perform(exchange);
    if (response.result == CURLE_WRITE_ERROR && response.found)
        response.error = sink.problem
                             ? sink.problem->message
                             : fmt::format("the file is longer than {} bytes", sink.limit_bytes);
    return response;
}

Response Request::head() {
    Exchange exchange;
    set_common_options(curl_, target_, exchange);
    curl_easy_setopt(curl_, CURLOPT_NOBODY, 1L);
    return perform(exchange);
}

Response Request::put(int body_fd, std::uint64_t size_bytes) {
    Exchange exchange;
    exchange.body_fd = body_fd;
    set_common_options(curl_, target_, exchange);
    set_body_options(curl_, exchange, size_bytes);
    return perform(exchange);
}

Response Request::post(int body_fd, std::uint64_t size_bytes) {
    Exchange exchange;
    exchange.body_fd = body_fd;
    set_common_options(curl_, target_, exchange);
    set_body_options(curl_, exchange, size_bytes);
    curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, "POST");
    return perform(exchange);
}

Response Request::perform(Exchange& exchange) {
    std::array<char, CURL_ERROR_SIZE> error{};
    exchange.keep_going = &keep_going_;
    curl_easy_setopt(curl_, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, error.data());
    exchange.response.result = curl_easy_perform(curl_);
    curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, nullptr);
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &exchange.response.status);
    exchange.response.error =
        error[0] != '\0' ? error.data() : curl_easy_strerror(exchange.response.result);
    if (exchange.response.result == CURLE_WRITE_ERROR) {
        exchange.response.error =
            fmt::format("the server's answer is longer than {} bytes", exchange.limit_bytes);
    }
    return std::move(exchange.response);
}

}  // namespace lagtrap::uploader
