// Brings bundles from a server into a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "uploader/transfer.hpp"

namespace lagtrap::cli {

// Empty members match all.
struct BundleFilter {
    std::string event;
    std::string host;
    std::string cause;  // its id, or a part of its title in any case
    std::uint64_t since_realtime_ns = 0;
    std::size_t limit = 20;  // the most recently received
};

struct ServerBundle {
    std::string digest;   // 64 hexadecimal digits
    std::string session;  // UUID; empty if the server does not know it
    std::uint64_t bytes = 0;
    std::string host, event;
    std::uint64_t delays = 0;
    std::uint64_t longest_delay_ns = 0;
    std::string unreadable;  // why the server cannot read it; empty if it can
};

// The file name it gets: as in a spool.
[[nodiscard]] std::string file_name_of(const ServerBundle& bundle);

// The page of a list of bundles, from the server's answer.
struct BundlePage {
    std::vector<ServerBundle> bundles;
    std::string next;  // empty at the end of the list
};
[[nodiscard]] Result<BundlePage> read_bundle_page(const std::string& answer);

// Ids of the causes that match, from the server's answer. NotFound names those there are.
[[nodiscard]] Result<std::vector<std::string>> matching_causes(const std::string& answer,
                                                               const std::string& wanted);

class BundleFetch {
  public:
    // Single files are at most this large, whatever the server says.
    static constexpr std::uint64_t bundle_limit_bytes = std::uint64_t{1} << 30;

    BundleFetch(uploader::Transfer transfer, uploader::Transfer::KeepGoing keep_going)
        : transfer_(std::move(transfer)), keep_going_(std::move(keep_going)) {}

    // The matching bundles, most recently received first. Errors are those of Transfer::get().
    [[nodiscard]] Result<std::vector<ServerBundle>> find(const BundleFilter& filter);

    enum class Outcome { Fetched, AlreadyThere };
    // Downloads a bundle, checks its digest, and gives it its name in the folder, which nobody else
    // sees before it is complete. Never replaces a file.
    [[nodiscard]] Result<Outcome> fetch(const ServerBundle& bundle,
                                        const std::filesystem::path& folder);

  private:
    [[nodiscard]] Result<std::set<std::string>> bundles_of_cause(const BundleFilter& filter);

    uploader::Transfer transfer_;
    uploader::Transfer::KeepGoing keep_going_;
};

}  // namespace lagtrap::cli
