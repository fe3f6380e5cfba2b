// The interface between the HTTP server and the application.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "server/api/counters.hpp"
#include "server/api/exchange.hpp"

namespace lagtrap::server {

// A large body being received. Destroying it unfinished discards the upload, which may block on
// disk and store.
class Upload {
  public:
    Upload() = default;
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;
    virtual ~Upload() = default;

    // The next bytes. An error ends the upload; refusal_of() gives the reply. Must be quick: runs
    // on a socket thread.
    [[nodiscard]] virtual Status write(const void* data, std::size_t size) = 0;
    [[nodiscard]] virtual Refusal refusal_of(const Error& error) = 0;
    // After the last byte; may take seconds.
    [[nodiscard]] virtual Reply finish() = 0;
};

// Which threads produce a reply. Each kind has its own, so that one cannot starve the others.
enum class Work { Light, Heavy, SignIn, Health };

// How to serve an admitted request.
struct Plan {
    std::function<Reply(const Request&)> answer;  // the request includes its body
    Work work = Work::Light;
    std::uint64_t body_limit_bytes = 0;  // 0: takes no body
    std::shared_ptr<Upload> upload;      // if set, receives the body instead
};

// The application behind the HTTP server. Any thread.
class Service {
  public:
    Service() = default;
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    virtual ~Service() = default;

    // Authenticates and routes by the header only. May block on the store.
    [[nodiscard]] virtual std::variant<Plan, Refusal> admit(const Request& request) = 0;
    // Which threads to call admit() on for this request.
    [[nodiscard]] virtual Work admission_work(const Request&) const { return Work::Light; }
    [[nodiscard]] virtual Counters& counters() = 0;
};

}  // namespace lagtrap::server
