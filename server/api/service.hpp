// What the HTTP server serves.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "server/api/counters.hpp"
#include "server/api/exchange.hpp"

namespace lagtrap::server {

// Something large that comes in. Whoever drops it unfinished gives up the upload, which may block on disk and store.
class Upload {
  public:
    Upload() = default;
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;
    virtual ~Upload() = default;

    // The next bytes; an error ends the upload, and refusal_of() says what the sender hears. Short: called where
    // sockets are served.
    [[nodiscard]] virtual Status write(const void* data, std::size_t size) = 0;
    [[nodiscard]] virtual Refusal refusal_of(const Error& error) = 0;
    // After the last byte; may take seconds.
    [[nodiscard]] virtual Reply finish() = 0;
};

// Where the work of a reply is done: each has threads of its own, so that one cannot starve the others.
enum class Work { Light, Heavy, SignIn, Health };

// What is to be done for a request that may be served.
struct Plan {
    std::function<Reply(const Request&)> answer;  // with the request's body
    Work work = Work::Light;
    std::uint64_t body_limit_bytes = 0;  // 0: takes no body
    std::shared_ptr<Upload> upload;      // takes the body instead, where set
};

// Any thread.
class Service {
  public:
    Service() = default;
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    virtual ~Service() = default;

    // Looks at the header alone: who asks, whether they may, and what is to be done. May block on the store.
    [[nodiscard]] virtual std::variant<Plan, Refusal> admit(const Request& request) = 0;
    // Where admit() is to be called for this request.
    [[nodiscard]] virtual Work admission_work(const Request&) const { return Work::Light; }
    [[nodiscard]] virtual Counters& counters() = 0;
};

}  // namespace lagtrap::server
