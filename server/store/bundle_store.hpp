// Finds and lists bundles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/filter.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;

// From the bundle's system file. Texts are untrusted UTF-8.
struct BundleFacts {
    std::string session_id;
    std::string host;
    std::string event;    // of the longest delay; of the trigger if there is no delay
    std::string process;  // of the longest delay's begin
    std::uint64_t started_realtime_ns = 0;
    std::uint64_t longest_delay_ns = 0;
    std::uint32_t delays = 0;
};

struct BundleRow {
    std::int64_t number = 0;  // increases with each bundle; set by add()
    std::string digest;       // SHA-256, 64 lower-case hexadecimal digits
    std::uint64_t bytes = 0;
    std::uint64_t received_realtime_ns = 0;
    std::string sender;  // name of the token; empty if the server needs none
    BundleFacts facts;
    std::string bad_reason;  // why it could not be read; empty if it is good
    bool parsed = false;     // set_contents() has been called
};

struct BundlePage {
    std::vector<BundleRow> bundles;
    std::optional<PageKey> next;
};

// Shows only what is visible. The rules of Store apply.
class BundleStore {
  public:
    BundleStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    [[nodiscard]] Result<std::optional<BundleRow>> find(const std::string& digest) const;
    // Newest first, at most `limit`. With `before`, only those with a lower number.
    [[nodiscard]] Result<std::vector<BundleRow>> list(std::uint32_t limit,
                                                      std::optional<std::int64_t> before) const;
    // Bundles with a delay that the filter selects, newest first. Includes bad ones if the filter
    // has only times and host.
    [[nodiscard]] Result<BundlePage> list_filtered(const Filter& filter, std::uint32_t limit,
                                                   std::optional<PageKey> after) const;
    // Bundles that are not read yet; 0 for people who do not see everything.
    [[nodiscard]] Result<std::uint64_t> waiting() const;

  private:
    // Replaces event, process, count and longest delay of each bundle by those of its visible
    // delays. Removes bundles without any.
    [[nodiscard]] Status limit_to_visible(std::vector<BundleRow>& rows) const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
