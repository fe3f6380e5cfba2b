// One HTTP request with libcurl, by the rules of Transfer.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/digest.hpp"
#include "core/result.hpp"
#include "uploader/target.hpp"
#include "uploader/transfer.hpp"

namespace lagtrap::uploader {

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
    bool found = false;  // its status line says 200
};

// The file into which the body of a 200 answer goes, if not into memory.
struct Sink {
    int file = -1;
    std::uint64_t limit_bytes = 0;
    std::uint64_t bytes = 0;
    Sha256 digest{};
    std::optional<Error> problem{};  // the file's
};

struct Exchange;

// What the requests for one entry share. Keeps references to its arguments.
class Request {
  public:
    Request(CURL* curl, const Target& target, std::string url,
            const Transfer::KeepGoing& keep_going)
        : curl_(curl), target_(target), url_(std::move(url)), keep_going_(keep_going) {}

    // Reads the token file every time.
    [[nodiscard]] Status authorise();
    void add_header(const std::string& line);
    [[nodiscard]] Response get(std::size_t limit_bytes);
    [[nodiscard]] Response get_into(Sink& sink);
    [[nodiscard]] Response head();
    [[nodiscard]] Response put(int body_fd, std::uint64_t size_bytes);
    [[nodiscard]] Response post(int body_fd, std::uint64_t size_bytes);

  private:
    struct FreeList {
        void operator()(curl_slist* list) const { curl_slist_free_all(list); }
    };
    Response perform(Exchange& exchange);

    CURL* curl_;
    const Target& target_;
    std::string url_;
    const Transfer::KeepGoing& keep_going_;
    std::unique_ptr<curl_slist, FreeList> headers_;
};

}  // namespace lagtrap::uploader
