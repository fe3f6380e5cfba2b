// SHA-256, the identity of bundles. OpenSSL does the work.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"

struct evp_md_ctx_st;

namespace lagtrap {

// Takes bytes as they come and gives the digest at the end. Not for several threads at once.
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    void update(const void* data, std::size_t size);
    // 64 lower-case hexadecimal digits; nothing may be added afterwards.
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

// A random version-4 UUID in its usual spelling.
[[nodiscard]] std::string random_uuid();

}  // namespace lagtrap
