#include "daemon/processes/inspector_pool.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "binaries/reader/reader_wire.hpp"
#include "core/child_process.hpp"
#include "daemon/processes/inspector_service.hpp"
#include "daemon/processes/process_party.hpp"
#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {
namespace {

using binaries::WireReader;
using binaries::WireWriter;

constexpr auto last_error_kind = static_cast<std::uint32_t>(ErrorKind::System);

void write_mapping(WireWriter& request, const NamedMapping& named) {
    request.items(std::vector<lagtrap_mapping>{named.mapping});
    request.text(std::string_view(named.path).substr(0, inspected_path_limit_bytes));
}

Error malformed() {
    return make_error(ErrorKind::System, "the process inspector gave an invalid answer");
}

const char* name_of(InspectionMessage kind) {
    if (kind == InspectionMessage::Open) return "opening a mapped file";
    if (kind == InspectionMessage::OpenProgram) return "opening the program";
    if (kind == InspectionMessage::OpenRoot) return "opening the root folder";
    if (kind == InspectionMessage::Context) return "reading its process context";
    if (kind >= InspectionMessage::Follow) return "copying the files with the code";
    if (kind == InspectionMessage::Words || kind == InspectionMessage::Memory)
        return "reading the memory";
    return kind == InspectionMessage::Read ? "reading the mappings or the command line"
                                           : "inspecting the mapped files";
}

constexpr std::chrono::milliseconds cancel_interval{50};

Error cancelled() { return make_error(ErrorKind::Timeout, "the inspection was cancelled"); }

ErrorKind kind_of(std::uint32_t error) {
    return error - 1 > last_error_kind ? ErrorKind::System : static_cast<ErrorKind>(error - 1);
}

}  // namespace

Result<InspectorHelper> start_inspector() {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return system_error("start the process inspector");
    InspectorHelper helper{-1, UniqueFd(ends[0])};
    const UniqueFd its(ends[1]);
    ChildOptions options;
    options.arguments = {"lagtrapd", inspector_argument};
    options.descriptors = {{STDIN_FILENO, -1}, {inspector_socket, its.get()}};
    auto pid = start_child("/proc/self/exe", options);
    if (!pid) return system_error("start the process inspector", pid.error().system_errno);
    helper.pid = *pid;
    return helper;
}

InspectorPool::~InspectorPool() {
    for (const InspectorHelper& helper : idle_) {
        ::kill(helper.pid, SIGKILL);
        (void)::waitpid(helper.pid, nullptr, 0);
    }
}

// Kills the helper. If it does not end within a moment, it is stuck until the kernel releases it.
bool InspectorPool::ends_at_once(pid_t pid) {
    ::kill(pid, SIGKILL);
    for (int i = 0; i < 20; ++i) {
        if (has_ended(pid)) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

bool InspectorPool::has_ended(pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; }

void InspectorPool::join_stuck() {
    std::erase_if(stuck_, [this](const Stuck& stuck) {
        if (!has_ended(stuck.helper)) return false;
        shares_.release_stuck(stuck.party);
        return true;
    });
}

void InspectorPool::keep_room_for(std::set<std::uint32_t> watched_pids) {
    const std::scoped_lock lock(mutex_);
    watched_pids_ = std::move(watched_pids);
}

// False if it gets no turn in time.
bool InspectorPool::await_turn(std::unique_lock<std::mutex>& lock, std::uint32_t pid, Party party) {
    join_stuck();
    const auto until = Clock::now() + options_.deadline;
    for (;;) {
        const auto turn = shares_.turn_of({party, watched_pids_.contains(pid)});
        if (turn != HelperShares::Turn::Later) return turn == HelperShares::Turn::Now;
        if (inspections_are_cancelled() || Clock::now() >= until) return false;
        (void)freed_.wait_until(lock, std::min(until, Clock::now() + cancel_interval));
    }
}

// Sets `avoided` to what the helper must avoid.
Result<InspectorHelper> InspectorPool::acquire(std::uint32_t pid, Party party,
                                               std::string& avoided) {
    std::unique_lock lock(mutex_);
    const bool has_turn = await_turn(lock, pid, party);
    const auto now = Clock::now();
    if (!has_turn || hold_ups_.avoids_process(pid, now)) {
        ++counts_.refused;
        return make_error(ErrorKind::Busy, "not tried: previous inspections timed out");
    }
    WireWriter reported;
    reported.items(hold_ups_.avoided_parties(now));
    reported.items(hold_ups_.avoided_devices(now));
    avoided = reported.take();
    shares_.begin(party);
    if (!idle_.empty()) {
        InspectorHelper helper = std::move(idle_.back());
        idle_.pop_back();
        return helper;
    }
    lock.unlock();
    auto started = options_.start();
    lock.lock();
    counts_.start_problem = started ? std::string() : started.error().message;
    if (started) {
        ++counts_.started;
        return started;
    }
    shares_.end(party);
    freed_.notify_all();
    return make_error(ErrorKind::Busy, started.error().message);
}

Status InspectorPool::receive(const InspectorHelper& helper, char* into, std::size_t size,
                              UniqueFd& file, Clock::time_point deadline) const {
    while (size > 0) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (inspections_are_cancelled()) return cancelled();
        if (left.count() <= 0)
            return make_error(
                ErrorKind::Timeout,
                fmt::format("the inspection took longer than {} ms", options_.deadline.count()));
        pollfd waiting{helper.socket.get(), POLLIN, 0};
        if (::poll(&waiting, 1, static_cast<int>(std::min(left, cancel_interval).count())) <= 0)
            continue;
        const long got = receive_inspection(helper.socket.get(), into, size, file, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) return make_error(ErrorKind::System, "the process inspector exited early");
        into += got;
        size -= static_cast<std::size_t>(got);
    }
    return success();
}

Result<InspectorPool::Answer> InspectorPool::converse(const InspectorHelper& helper,
                                                      const Request& request,
                                                      const std::string& body,
                                                      Conversation& conversation) const {
    const auto deadline = Clock::now() + options_.deadline;
    const int socket = helper.socket.get();
    if ((request.given >= 0 &&
         !send_inspection(socket, {InspectionMessage::Give, 0, 0}, {}, request.given)) ||
        !send_inspection(socket, {request.kind, 0, body.size()}, body, request.file))
        return make_error(ErrorKind::System, "the process inspector has exited");
    for (;;) {
        InspectionHead head;
        Answer answer;
        TRY(receive(helper, reinterpret_cast<char*>(&head), sizeof head, answer.file, deadline));
        if (head.body_bytes > inspection_limit_bytes) return malformed();
        answer.body.resize(head.body_bytes);
        TRY(receive(helper, answer.body.data(), answer.body.size(), answer.file, deadline));
        WireReader text(answer.body);
        if (head.kind == InspectionMessage::User)
            conversation.progress.party = text.number<Party>();
        if (head.kind == InspectionMessage::Device)
            conversation.progress.device = text.number<std::uint64_t>();
        if (head.kind != InspectionMessage::Answer) continue;
        conversation.answered = true;
        if (head.error == 0) return answer;
        return make_error(kind_of(head.error), answer.body);
    }
}

Result<InspectorPool::Answer> InspectorPool::ask(const Request& request) {
    if (inspections_are_cancelled()) return cancelled();
    const std::uint32_t pid = request.pid;
    // A process that is gone cannot delay anything.
    const auto found =
        request.party ? Result<Party>(*request.party) : read_party("/proc/" + std::to_string(pid));
    const Party party = found ? *found : root_party;
    std::string avoided;
    TRY_ASSIGN(InspectorHelper helper, acquire(pid, party, avoided));
    WireWriter head;
    head.number(pid);
    Conversation conversation{{pid, request.party, {}}, false};
    auto answer = converse(helper, request, head.take() + avoided + request.body, conversation);
    const bool is_stuck = !conversation.answered && !ends_at_once(helper.pid);
    const std::scoped_lock lock(mutex_);
    if (is_stuck) {
        stuck_.push_back({helper.pid, party});
        shares_.end_stuck(party);
    } else {
        shares_.end(party);
    }
    freed_.notify_all();
    if (!answer && answer.error().kind == ErrorKind::Timeout && !inspections_are_cancelled()) {
        ++counts_.held_up;
        counts_.last_held_up = fmt::format("{} of process {}", name_of(request.kind), pid);
        hold_ups_.note(conversation.progress, Clock::now());
    }
    if (!answer && answer.error().kind == ErrorKind::Busy) ++counts_.refused;
    if (conversation.answered) {
        idle_.push_back(std::move(helper));
        return answer;
    }
    // A failed helper says nothing about what it inspected.
    if (!answer && answer.error().kind == ErrorKind::System)
        return make_error(ErrorKind::Busy, answer.error().message);
    return answer;
}

Result<InspectedProcess> InspectorPool::read(std::uint32_t pid, Code code,
                                             const InspectionLimits& limits) {
    WireWriter what;
    what.number(static_cast<std::uint32_t>(code));
    what.number(limits.mappings);
    what.number(limits.text_bytes);
    what.number(static_cast<std::uint32_t>(command_lines_.load()));
    TRY_ASSIGN(const Answer answer, ask({InspectionMessage::Read, pid, what.take()}));
    WireReader text(answer.body);
    InspectedProcess process;
    process.mappings_left_out = text.number<std::uint64_t>();
    if (!process.records.assign(text.text(inspection_limit_bytes)) || !text.complete())
        return malformed();
    return process;
}

std::vector<Result<CodeFileIdentity>> InspectorPool::identify(
    const std::vector<NamedMapping>& mappings) {
    if (mappings.empty()) return {};
    WireWriter what;
    for (const NamedMapping& mapping : mappings) write_mapping(what, mapping);
    const auto answer =
        ask({InspectionMessage::Identify, mappings.front().mapping.pid, what.take()});
    std::vector<Result<CodeFileIdentity>> identities;
    if (!answer) return {mappings.size(), answer.error()};
    WireReader text(answer->body);
    for (std::size_t i = 0; i < mappings.size(); ++i) {
        const auto error = text.number<std::uint32_t>();
        const std::string problem = text.text(inspection_limit_bytes);
        const auto identity = text.items<CodeFileIdentity>(1);
        if (!text.good() || identity.size() != 1) return {mappings.size(), malformed()};
        identities.push_back(error == 0 ? Result<CodeFileIdentity>(identity.front())
                                        : make_error(kind_of(error), problem));
    }
    return identities;
}

Result<OpenedFile> InspectorPool::opened_by(const Request& request) {
    TRY_ASSIGN(Answer answer, ask(request));
    WireReader text(answer.body);
    const auto identity = text.items<CodeFileIdentity>(1);
    const bool program = text.number<std::uint8_t>() != 0;
    if (identity.size() != 1 || !text.complete() || !answer.file.valid()) return malformed();
    return OpenedFile{std::move(answer.file), identity.front(), program};
}

Result<OpenedFile> InspectorPool::open(const NamedMapping& mapping) {
    WireWriter what;
    write_mapping(what, mapping);
    return opened_by({InspectionMessage::Open, mapping.mapping.pid, what.take()});
}

Result<OpenedFile> InspectorPool::open_program(std::uint32_t pid) {
    return opened_by({InspectionMessage::OpenProgram, pid, {}});
}

Result<UniqueFd> InspectorPool::open_root(std::uint32_t pid) {
    TRY_ASSIGN(Answer answer, ask({InspectionMessage::OpenRoot, pid, {}}));
    if (!answer.file.valid()) return malformed();
    return std::move(answer.file);
}

Result<std::vector<std::uint64_t>> InspectorPool::read_words(
    std::uint32_t pid, const std::vector<std::uint64_t>& addresses) {
    WireWriter what;
    what.items(addresses);
    TRY_ASSIGN(const Answer answer, ask({InspectionMessage::Words, pid, what.take()}));
    WireReader text(answer.body);
    auto words = text.items<std::uint64_t>(inspected_words_limit);
    if (!text.complete() || words.size() != addresses.size()) return malformed();
    return words;
}

Result<std::string> InspectorPool::read_memory(std::uint32_t pid, std::uint64_t address,
                                               std::uint64_t bytes) {
    WireWriter what;
    what.number(address);
    what.number(bytes);
    TRY_ASSIGN(const Answer answer, ask({InspectionMessage::Memory, pid, what.take()}));
    WireReader text(answer.body);
    std::string memory = text.text(inspected_memory_limit_bytes);
    if (!text.complete() || memory.size() != bytes) return malformed();
    return memory;
}

Result<ProcessContext> InspectorPool::process_context(std::uint32_t pid) {
    TRY_ASSIGN(const Answer answer, ask({InspectionMessage::Context, pid, {}}));
    WireReader text(answer.body);
    ProcessContext context;
    for (auto left = text.count(context_keys_limit, sizeof(std::uint32_t)); left > 0; --left)
        context.keys.push_back(text.text(context_key_limit_bytes));
    if (!text.complete()) return malformed();
    return context;
}

Result<FollowedProcess> InspectorPool::follow(std::uint32_t pid) {
    TRY_ASSIGN(Answer answer, ask({InspectionMessage::Follow, pid, {}}));
    WireReader text(answer.body);
    const auto facts = text.items<ProcessFacts>(1);
    FollowedProcess process;
    process.tmp_was_refused = text.number<std::uint8_t>() != 0;
    if (!text.complete() || facts.size() != 1) return malformed();
    process.facts = facts.front();
    process.tmp = std::move(answer.file);
    return process;
}

Result<UniqueFd> InspectorPool::open_mapped(const lagtrap_mapping& mapping) {
    WireWriter what;
    what.items(std::vector<lagtrap_mapping>{mapping});
    TRY_ASSIGN(Answer answer, ask({InspectionMessage::OpenMapped, mapping.pid, what.take()}));
    if (!answer.file.valid()) return malformed();
    return std::move(answer.file);
}

Result<OpenedCodeFile> InspectorPool::open_code_file(Owner owner, int place,
                                                     const std::string& name) {
    WireWriter what;
    what.text(name);
    TRY_ASSIGN(Answer answer, ask({InspectionMessage::OpenCodeFile, owner.pid, what.take(), place,
                                   -1, owner.party}));
    WireReader text(answer.body);
    OpenedCodeFile opened{std::move(answer.file), 0, 0, 0};
    opened.uid = text.number<std::uint32_t>();
    opened.written_realtime_ns = text.number<std::int64_t>();
    opened.size_bytes = text.number<std::uint64_t>();
    if (!text.complete() || !opened.file.valid()) return malformed();
    return opened;
}

Result<std::uint64_t> InspectorPool::copy(Owner owner, int from, int to,
                                          std::uint64_t limit_bytes) {
    WireWriter what;
    what.number(limit_bytes);
    TRY_ASSIGN(const Answer answer,
               ask({InspectionMessage::Copy, owner.pid, what.take(), from, to, owner.party}));
    WireReader text(answer.body);
    const auto copied = text.number<std::uint64_t>();
    if (!text.complete() || copied > limit_bytes) return malformed();
    return copied;
}

InspectionCounts InspectorPool::counts() const {
    const std::scoped_lock lock(mutex_);
    InspectionCounts counts = counts_;
    counts.held_up_by = hold_ups_.by_party();
    counts.stuck = stuck_.size();
    return counts;
}

}  // namespace lagtrap::daemon
