// One attempt to send a bundle or batch of runs to the server, or to fetch something from it. Uses
// libcurl.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "spool/spool.hpp"
#include "uploader/retry_policy.hpp"
#include "uploader/target.hpp"

namespace lagtrap::uploader {

struct TransferOutcome {
    Verdict verdict = Verdict::TryLater;
    long status = 0;             // HTTP; 0 without a complete answer
    bool already_there = false;  // nothing was sent
    bool cancelled = false;
    std::optional<std::chrono::seconds> retry_after;
    std::string message;  // one printable line: what happened, and a hint
};

// A file that was downloaded.
struct Download {
    std::uint64_t bytes = 0;
    std::string digest;  // SHA-256, 64 hexadecimal digits
};

// Keeps its connection between transfers. Not thread-safe.
class Transfer {
  public:
    // Called about once a second during a transfer; returning false aborts it.
    using KeepGoing = std::function<bool()>;

    explicit Transfer(Target target);
    ~Transfer();
    Transfer(Transfer&&) noexcept;
    Transfer& operator=(Transfer&&) noexcept;

    // Sends an entry: HEAD, then, unless the server has it, PUT {url}/api/v1/bundles/{sha256} or
    // batches/. First computes the file's digest; a file that does not match its name is damaged
    // and Rejected. Delivered only if the server confirms the same digest and size. Spans are sent
    // to a collector by POST and confirmed by the status. If it refuses some of them, the message
    // says how many; they must not be sent again. Does not follow redirects, checks certificates,
    // and limits the size of answers. Failures are reported only as a verdict.
    [[nodiscard]] TransferOutcome send(const std::filesystem::path& file,
                                       const spool::EntryName& name, const KeepGoing& keep_going);

    // GET {url}{path} by the same rules; returns the body of a 200 answer, at most `limit_bytes`.
    // ErrorKind::NotFound for 404; Denied for 401 or 403 (the caller explains what to do about the
    // token); Unsupported if the certificate is not trusted; Busy if the server may answer later;
    // Invalid for any other answer.
    [[nodiscard]] Result<std::string> get(const std::string& path, std::size_t limit_bytes,
                                          const KeepGoing& keep_going);

    // Like get(), but writes the body of a 200 answer to a file, at most `limit_bytes`. After an
    // error, the file may have a part of it.
    [[nodiscard]] Result<Download> download(const std::string& path, int file,
                                            std::uint64_t limit_bytes, const KeepGoing& keep_going);

  private:
    Target target_;
    std::shared_ptr<void> curl_;  // CURL easy handle
};

}  // namespace lagtrap::uploader
