// The server's application with a real, filled store and blobs, for fuzz targets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "server/api/application.hpp"

namespace lagtrap::fuzz {

// Secrets of people and machines with rights; inputs may contain them.
inline constexpr const char* admin_token =
    "ltu_0123456789ab_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
inline constexpr const char* upload_token =
    "ltu_0123456789cd_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
// of ann, a reader
inline constexpr const char* session_secret = "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC";

// Two runs, a parsed bundle whose bytes are gone, and an unparsed bundle, in a folder that is
// removed with the object.
class FilledServer {
  public:
    enum class Accounts { None, Some };
    explicit FilledServer(Accounts accounts);
    FilledServer(const FilledServer&) = delete;
    FilledServer& operator=(const FilledServer&) = delete;
    ~FilledServer();

    [[nodiscard]] server::Application& application() { return *application_; }
    // Whether it has accounts.
    [[nodiscard]] bool has_accounts() const { return accounts_ == Accounts::Some; }

  private:
    void add_runs();
    void add_bundles();
    void add_accounts();

    const Accounts accounts_;
    std::filesystem::path folder_;
    std::unique_ptr<server::Store> store_;
    std::unique_ptr<server::Blobs> blobs_;
    // never started: jobs have their own fuzz targets
    std::unique_ptr<server::JobRunner> jobs_;
    std::unique_ptr<server::AlertSender> alert_sender_;  // never started: it would send messages
    std::unique_ptr<server::Ingest> ingest_;
    std::unique_ptr<server::Application> application_;
};

}  // namespace lagtrap::fuzz
