#include "server/alerts/sender.hpp"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/text.hpp"
#include "server/alerts/receiver_address.hpp"

namespace lagtrap::server {
namespace {

constexpr long connect_timeout_s = 10;
constexpr long timeout_s = 20;
constexpr std::size_t answer_limit_bytes = 4096;
constexpr std::size_t answer_shown_bytes = 200;

struct Exchange {
    const Outgoing& outgoing;
    const std::atomic<bool>& stopping;
    std::size_t sent_bytes = 0;
    std::string answer{};
    std::string refused_address{};
};

std::size_t give_body(char* into, std::size_t size, std::size_t count, void* user) {
    auto& exchange = *static_cast<Exchange*>(user);
    const std::string& body = exchange.outgoing.body;
    const std::size_t bytes = std::min(size * count, body.size() - exchange.sent_bytes);
    std::memcpy(into, body.data() + exchange.sent_bytes, bytes);
    exchange.sent_bytes += bytes;
    return bytes;
}

std::size_t take_answer(char* data, std::size_t size, std::size_t count, void* user) {
    auto& exchange = *static_cast<Exchange*>(user);
    const std::size_t bytes = size * count;
    exchange.answer.append(data, std::min(bytes, answer_limit_bytes - exchange.answer.size()));
    // The rest is not needed, because the status is known by now.
    return exchange.answer.size() < answer_limit_bytes ? bytes : 0;
}

int watch(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Exchange*>(user)->stopping ? 1 : 0;
}

// Checks the address about to be connected to: a name can resolve to anything, and differently each
// time.
curl_socket_t open_socket_elsewhere(void* user, curlsocktype, curl_sockaddr* to) {
    if (is_local_receiver(to->addr)) {
        static_cast<Exchange*>(user)->refused_address = address_text(to->addr);
        return CURL_SOCKET_BAD;
    }
    return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

std::string host_of(const std::string& url) {
    const std::size_t begin = url.find("://") + 3;
    return url.substr(begin, url.find_first_of("/?#", begin) - begin);
}

struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

List list_of(const std::vector<std::string>& texts) {
    curl_slist* list = nullptr;
    for (const std::string& text : texts) list = curl_slist_append(list, text.c_str());
    return List(list);
}

void set_up_mail(CURL* handle, Exchange& exchange, curl_slist* recipients) {
    const Outgoing& outgoing = exchange.outgoing;
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(handle, CURLOPT_MAIL_FROM, outgoing.mail_from.c_str());
    curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, recipients);
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(handle, CURLOPT_READDATA, &exchange);
    curl_easy_setopt(handle, CURLOPT_USE_SSL,
                     outgoing.password.empty() ? CURLUSESSL_TRY : CURLUSESSL_ALL);
}

void set_up_post(CURL* handle, Exchange& exchange, Receivers receivers, curl_slist* headers) {
    const Outgoing& outgoing = exchange.outgoing;
    if (receivers == Receivers::NotLocal) {
        curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket_elsewhere);
        curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &exchange);
    }
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "lagtrap-server");
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, outgoing.body.c_str());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(outgoing.body.size()));
}

Error refused(const std::string& host, long status, const std::string& answer) {
    std::string said = printable(answer.substr(0, answer_shown_bytes));
    return make_error(ErrorKind::System, host + " answered " + std::to_string(status) +
                                             (said.empty() ? "" : ": " + said));
}

}  // namespace

Status send_out(const Outgoing& outgoing, Receivers receivers, const std::atomic<bool>& stopping) {
    // Not thread-safe, and needed before the first handle.
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(
        ready == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
    if (!handle) return make_error(ErrorKind::System, "cannot start libcurl");
    Exchange exchange{outgoing, stopping};
    CURL* curl = handle.get();
    curl_easy_setopt(curl, CURLOPT_URL, outgoing.url.c_str());
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_timeout_s);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, timeout_s);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
    if (!outgoing.user.empty()) curl_easy_setopt(curl, CURLOPT_USERNAME, outgoing.user.c_str());
    if (!outgoing.user.empty()) curl_easy_setopt(curl, CURLOPT_PASSWORD, outgoing.password.c_str());
    const bool mail = outgoing.url.starts_with("smtp");
    const List list = list_of(mail ? outgoing.mail_to : outgoing.headers);
    if (mail) {
        set_up_mail(curl, exchange, list.get());
    } else {
        set_up_post(curl, exchange, receivers, list.get());
    }
    const CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    const std::string host = host_of(outgoing.url);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return make_error(ErrorKind::Vanished, "the server is shutting down");
    if (code != CURLE_OK && !exchange.refused_address.empty())
        return make_error(ErrorKind::Denied,
                          host + " is " + exchange.refused_address +
                              ", a loopback, link-local or cloud metadata address; rules may only "
                              "use it if the server has --allow-local-receivers");
    const bool read_enough = code == CURLE_WRITE_ERROR && !mail;
    if (code != CURLE_OK && !read_enough)
        return make_error(
            ErrorKind::System,
            host + ": " + curl_easy_strerror(code) +
                (mail && status >= 400 ? ", with reply " + std::to_string(status) : ""));
    if (!mail && (status < 200 || status > 299)) return refused(host, status, exchange.answer);
    return success();
}

}  // namespace lagtrap::server
