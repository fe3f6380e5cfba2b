#include "daemon/control/client_link.hpp"

#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>

#include "daemon/control/control_request.hpp"
#include "daemon/control/control_server.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t client_request_limit_bytes = 64 * 1024;
constexpr auto cost_interval = std::chrono::seconds(1);

}  // namespace

ClientLink::ClientLink(boost::asio::io_context& context, UniqueFd client, UniqueFd service,
                       Owner& owner)
    : owner_(owner), client_(context), service_(context, service.release()), timer_(context) {
    client_.assign(boost::asio::local::stream_protocol(), client.release());
    await_request();
    await_service();
    report_cost();
}

// The service sends nothing; its end is readable once it has gone.
void ClientLink::await_service() {
    service_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                        [this](const auto& failure) {
                            if (failure != boost::asio::error::operation_aborted)
                                owner_.client_gone();
                        });
}

void ClientLink::report_cost() {
    const std::uint64_t used_ppm = owner_.used_ppm();
    (void)::send(service_.native_handle(), &used_ppm, sizeof used_ppm, MSG_DONTWAIT | MSG_NOSIGNAL);
    timer_.expires_after(cost_interval);
    timer_.async_wait([this](const auto& failure) {
        if (!failure) report_cost();
    });
}

void ClientLink::await_request() {
    boost::asio::async_read_until(client_,
                                  boost::asio::dynamic_buffer(request_, client_request_limit_bytes),
                                  '\n', [this](const auto& failure, std::size_t bytes) {
                                      if (failure == boost::asio::error::operation_aborted) return;
                                      if (failure) return owner_.client_gone();
                                      take(bytes);
                                  });
}

void ClientLink::take(std::size_t bytes) {
    const auto request = parse_control_request(std::string_view(request_).substr(0, bytes));
    request_.erase(0, bytes);
    send(request ? owner_.answer_client(*request) : Answer{refusal(request.error().message)});
}

std::size_t ClientLink::send_with_file(int file) {
    iovec part{answer_.data(), answer_.size()};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof file)]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* const attached = CMSG_FIRSTHDR(&message);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(attached), &file, sizeof file);
    const ssize_t sent = ::sendmsg(client_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

void ClientLink::send(Answer answer) {
    answer_ = boost::json::serialize(answer.object) + '\n';
    // The client has read the previous answer before it asks again, so there is room.
    if (answer.file.valid()) {
        const std::size_t sent = send_with_file(answer.file.get());
        if (sent == 0) return owner_.client_gone();
        answer_.erase(0, sent);
    }
    boost::asio::async_write(client_, boost::asio::buffer(answer_),
                             [this](const auto& failure, std::size_t) {
                                 if (failure == boost::asio::error::operation_aborted) return;
                                 if (failure) return owner_.client_gone();
                                 await_request();
                             });
}

}  // namespace lagtrap::daemon
