#include "daemon/unwinding/mapping_identifier.hpp"

#include <pthread.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t identified_at_once = 1024;
constexpr auto between_looks = 5ms;

}  // namespace

MappingIdentifier::MappingIdentifier(FollowedCode& code, const Wakeup& follower)
    : code_(code), follower_(follower), thread_([this] { work(); }) {}

MappingIdentifier::~MappingIdentifier() {
    { const std::scoped_lock lock(code_.mutex); }
    to_worker_.notify_all();
    thread_.join();
}

void MappingIdentifier::notify() {
    wanted_ = true;
    to_worker_.notify_one();
}

void MappingIdentifier::work() {
    (void)::pthread_setname_np(::pthread_self(), "looker");
    while (!code_.stopping) {
        const bool identified = identify_files();
        if (read_outgrown() || identified) follower_.notify();
        std::unique_lock lock(code_.mutex);
        to_worker_.wait_for(lock, between_looks, [this] { return code_.stopping.load(); });
        to_worker_.wait(lock, [this] { return code_.stopping || wanted_; });
        wanted_ = false;
    }
}

bool MappingIdentifier::identify_files() {
    ProcessSpaces::Unidentified asked;
    {
        const std::scoped_lock lock(code_.mutex);
        asked = code_.spaces.unidentified(identified_at_once, Clock::now());
    }
    for (const auto& mappings : asked) {
        if (code_.stopping) break;
        const auto identities = code_.inspector.identify(mappings);
        const std::scoped_lock lock(code_.mutex);
        code_.spaces.identify(mappings, identities, Clock::now());
    }
    return !asked.empty();
}

bool MappingIdentifier::read_outgrown() {
    std::optional<std::uint32_t> pid;
    {
        const std::scoped_lock lock(code_.mutex);
        pid = code_.spaces.next_outgrown(Clock::now());
    }
    if (!pid) return false;
    const auto began = Clock::now();
    const auto process = code_.inspector.read(*pid, ProcessInspector::Code::Read, {});
    const auto now = Clock::now();
    const std::scoped_lock lock(code_.mutex);
    const bool there = code_.spaces.read_anew(
        *pid, process ? std::optional(*process) : std::nullopt, now - began, now);
    if (there && process)
        process->records.for_each(
            [this](const lagtrap_record* record) { code_.mapped_files.take(record); });
    return true;
}

}  // namespace lagtrap::daemon
