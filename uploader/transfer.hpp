// One attempt to bring one bundle or batch of runs to the server, or to have something from it. libcurl does the work.
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
    long status = 0;             // HTTP; 0 if there was no whole answer
    bool already_there = false;  // nothing was sent
    bool cancelled = false;
    std::optional<std::chrono::seconds> retry_after;
    std::string message;  // one printable line: what happened, and a hint
};

// Keeps its connection between transfers. Not for several threads at once.
class Transfer {
  public:
    // Asked about once a second during a transfer; false gives it up.
    using KeepGoing = std::function<bool()>;

    explicit Transfer(Target target);
    ~Transfer();
    Transfer(Transfer&&) noexcept;
    Transfer& operator=(Transfer&&) noexcept;

    // HEAD, and PUT unless the server has the entry: PUT {url}/api/v1/bundles/{sha256}, or batches/. The digest is taken from
    // the file first: a file that does not fit its name is damaged and Rejected. Delivered only if
    // the server names the same digest and size. Spans go to a collector by POST, whose status confirms them; of spans that it
    // refuses one by one the message says how many: they are not to be sent again. Redirects are not followed, certificates are checked, answers are
    // bounded. Never fails otherwise than by its verdict.
    [[nodiscard]] TransferOutcome send(const std::filesystem::path& file, const spool::EntryName& name,
                                       const KeepGoing& keep_going);

    // GET {url}{path}, by the same rules: what an answer of 200 has, at most `limit_bytes`. ErrorKind::NotFound: 404; Denied: 401 or
    // 403, of which the caller says what to do about the token; Unsupported: its certificate is not trusted; Busy: the server may answer later;
    // Invalid: it answers otherwise.
    [[nodiscard]] Result<std::string> get(const std::string& path, std::size_t limit_bytes,
                                          const KeepGoing& keep_going);

  private:
    class Request;
    Target target_;
    std::shared_ptr<void> curl_;  // a CURL easy handle
};

}  // namespace lagtrap::uploader
