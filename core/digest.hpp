// SHA-256, which identifies bundles. Computed by OpenSSL.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"

struct evp_md_ctx_st;

namespace lagtrap {

// Computes a digest of data that arrives in pieces. Not thread-safe.
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    void update(const void* data, std::size_t size);
    // Returns 64 lower-case hexadecimal digits. Call it once, and do not call update() afterwards.
    [[nodiscard]] std::string finish_hex();

  private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

[[nodiscard]] Result<std::string> sha256_of_file(const std::filesystem::path& path);
[[nodiscard]] std::string sha256_of(std::string_view text);

// Whether `text` is 64 lower-case hexadecimal digits.
[[nodiscard]] bool is_sha256_hex(std::string_view text);

// Returns a random version 4 UUID, in lower case with hyphens.
[[nodiscard]] std::string random_uuid();

}  // namespace lagtrap
