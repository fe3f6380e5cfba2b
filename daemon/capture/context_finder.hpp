// Finds where the threads of a process publish what they work for: OpenTelemetry's thread context,
// https://github.com/open-telemetry/opentelemetry-specification/blob/main/oteps/profiles/4947-thread-ctx.md
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "binaries/elf/thread_variable.hpp"
#include "bpf/recorder.h"
#include "core/result.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct FoundContext {
    lagtrap_context_place place{};
    std::vector<std::string> keys;  // names of the attributes, by number
};

// Use it on one thread.
class ContextFinder {
  public:
    // `inspector` must outlive it.
    explicit ContextFinder(ProcessInspector& inspector) : inspector_(inspector) {}

    // NotFound: the process publishes none, or not yet. Other errors as ProcessInspector.
    [[nodiscard]] Result<FoundContext> find(std::uint32_t pid);

    static constexpr std::size_t files_limit = 4'096;  // remembered

  private:
    struct FileKey {
        std::uint64_t device = 0, inode = 0, size_bytes = 0;
        std::int64_t changed_ns = 0;
        auto operator<=>(const FileKey&) const = default;
    };
    [[nodiscard]] Result<std::optional<binaries::ThreadVariable>> variable_of(
        const NamedMapping& mapping, const CodeFileIdentity& identity);
    [[nodiscard]] Result<binaries::ThreadPlace> place_of(const NamedMapping& mapping,
                                                         const binaries::ThreadVariable& variable);
    [[nodiscard]] Result<std::array<std::uint64_t, 2>> words_at(std::uint32_t pid,
                                                                std::uint64_t address);

    ProcessInspector& inspector_;
    std::map<FileKey, std::optional<binaries::ThreadVariable>> known_;
};

// The place as BPF reads it. `paths` are those of the process's files, which tell its C library.
[[nodiscard]] lagtrap_context_place context_place(const binaries::ThreadPlace& place,
                                                  const std::vector<std::string>& paths);

}  // namespace lagtrap::daemon
