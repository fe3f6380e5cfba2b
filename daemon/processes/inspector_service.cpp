#include "daemon/processes/inspector_service.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "binaries/reader/reader_wire.hpp"
#include "core/capabilities.hpp"
#include "core/heap.hpp"
#include "daemon/processes/code_file_copier.hpp"
#include "daemon/processes/inspector_wire.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/process_party.hpp"
#include "daemon/processes/process_texts.hpp"
#include "sandbox/confinement.hpp"
#include "trace/logs/code_files.hpp"

namespace lagtrap::daemon {
namespace {

using binaries::WireReader;
using binaries::WireWriter;

constexpr std::size_t avoided_limit = 4096;
constexpr int exit_usage = 2;
constexpr int exit_not_confined = 4;

// A received descriptor replaces `file`.
bool receive_all(int socket, char* into, std::size_t size, UniqueFd& file) {
    while (size > 0) {
        const long got = receive_inspection(socket, into, size, file, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        into += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

std::optional<NamedMapping> mapping_in(WireReader& request) {
    const auto mappings = request.items<lagtrap_mapping>(1);
    NamedMapping named;
    named.path = request.text(inspected_path_limit_bytes);
    if (!request.good() || mappings.size() != 1) return std::nullopt;
    named.mapping = mappings.front();
    return named;
}

class InspectionService {
  public:
    explicit InspectionService(int socket)
        : socket_(socket),
          inspector_("/proc", [this](std::uint64_t device) { return may_open(device); }) {}

    // False if the daemon is gone.
    bool serve_one() {
        InspectionHead head;
        UniqueFd place;
        if (!receive_all(socket_, reinterpret_cast<char*>(&head), sizeof head, place)) return false;
        if (head.body_bytes > inspection_limit_bytes) return false;
        std::string body(head.body_bytes, '\0');
        if (!receive_all(socket_, body.data(), body.size(), place)) return false;
        if (head.kind == InspectionMessage::Give) {
            given_ = std::move(place);
            return true;
        }
        WireReader request(body);
        const auto pid = request.number<std::uint32_t>();
        const auto users = request.items<std::uint32_t>(avoided_limit);
        avoided_devices_ = request.items<std::uint64_t>(avoided_limit);
        if (!request.good()) return false;
        UniqueFd file;
        const auto answer =
            may_look(pid, users)
                ? answer_to(head.kind, pid, request, place.get(), file)
                : make_error(ErrorKind::Busy,
                             "not tried: inspections of this user's processes timed out");
        given_.reset();
        InspectionHead answered{InspectionMessage::Answer, 0, 0};
        if (!answer) answered.error = 1 + static_cast<std::uint32_t>(answer.error().kind);
        const std::string& text = answer ? *answer : answer.error().message;
        answered.body_bytes = text.size();
        return send_inspection(socket_, answered, text, file.get());
    }

  private:
    bool may_look(std::uint32_t pid, const std::vector<std::uint32_t>& avoided_users) {
        const auto user = read_party("/proc/" + std::to_string(pid));
        if (!user) return true;  // it is gone and cannot delay anything
        tell(InspectionMessage::User, *user);
        return std::find(avoided_users.begin(), avoided_users.end(), *user) == avoided_users.end();
    }

    Status may_open(std::uint64_t device) {
        if (std::find(avoided_devices_.begin(), avoided_devices_.end(), device) !=
            avoided_devices_.end())
            return make_error(ErrorKind::Busy,
                              "not tried: inspections on its file system timed out");
        tell(InspectionMessage::Device, device);
        return success();
    }

    template <typename Number>
    void tell(InspectionMessage kind, Number number) {
        WireWriter body;
        body.number(number);
        const std::string bytes = body.take();
        (void)send_inspection(socket_, {kind, 0, bytes.size()}, bytes);
    }

    static std::string answer_with(OpenedFile opened, UniqueFd& file) {
        WireWriter answer;
        answer.items(std::vector<CodeFileIdentity>{opened.identity});
        answer.number(static_cast<std::uint8_t>(opened.is_program));
        file = std::move(opened.file);
        return answer.take();
    }

    Result<std::string> answer_to(InspectionMessage kind, std::uint32_t pid, WireReader& request,
                                  int place, UniqueFd& file) {
        if (kind >= InspectionMessage::Follow)
            return answer_of_copier(kind, pid, request, place, file);
        WireWriter answer;
        if (kind == InspectionMessage::Read) {
            const auto code = static_cast<ProcessInspector::Code>(request.number<std::uint32_t>());
            InspectionLimits limits;
            limits.mappings = request.number<std::uint32_t>();
            limits.text_bytes = request.number<std::uint32_t>();
            limits.command_lines = static_cast<CommandLines>(request.number<std::uint32_t>());
            TRY_ASSIGN(const InspectedProcess process, inspector_.read(pid, code, limits));
            answer.number(process.mappings_left_out);
            answer.text(process.records.bytes());
            return answer.take();
        }
        if (kind == InspectionMessage::Open) {
            const auto mapping = mapping_in(request);
            if (!mapping) return make_error(ErrorKind::Invalid, "no such mapping");
            TRY_ASSIGN(OpenedFile opened, inspector_.open(*mapping));
            return answer_with(std::move(opened), file);
        }
        if (kind == InspectionMessage::OpenProgram) {
            TRY_ASSIGN(OpenedFile opened, inspector_.open_program(pid));
            return answer_with(std::move(opened), file);
        }
        if (kind == InspectionMessage::OpenRoot) {
            TRY_ASSIGN(file, inspector_.open_root(pid));
            return answer.take();
        }
        if (kind == InspectionMessage::Words) {
            const auto addresses = request.items<std::uint64_t>(inspected_words_limit);
            TRY_ASSIGN(const auto words, inspector_.read_words(pid, addresses));
            answer.items(words);
            return answer.take();
        }
        if (kind == InspectionMessage::Memory) {
            const auto address = request.number<std::uint64_t>();
            TRY_ASSIGN(const std::string bytes,
                       inspector_.read_memory(pid, address, request.number<std::uint64_t>()));
            answer.text(bytes);
            return answer.take();
        }
        if (kind == InspectionMessage::Context) {
            TRY_ASSIGN(const ProcessContext context, inspector_.process_context(pid));
            answer.number(static_cast<std::uint64_t>(context.keys.size()));
            for (const std::string& key : context.keys) answer.text(key);
            return answer.take();
        }
        std::vector<NamedMapping> mappings;
        while (auto mapping = mapping_in(request)) mappings.push_back(std::move(*mapping));
        for (const auto& identity : inspector_.identify(mappings)) {
            answer.number(identity ? 0U : 1 + static_cast<std::uint32_t>(identity.error().kind));
            answer.text(identity ? std::string() : identity.error().message);
            answer.items(std::vector<CodeFileIdentity>{identity ? *identity : CodeFileIdentity{}});
        }
        return answer.take();
    }

    Result<std::string> answer_of_copier(InspectionMessage kind, std::uint32_t pid,
                                         WireReader& request, int place, UniqueFd& file) {
        WireWriter answer;
        if (kind == InspectionMessage::Follow) {
            TRY_ASSIGN(FollowedProcess process, copier_.follow(pid));
            answer.items(std::vector<ProcessFacts>{process.facts});
            answer.number(static_cast<std::uint8_t>(process.tmp_was_refused));
            file = std::move(process.tmp);
        } else if (kind == InspectionMessage::OpenMapped) {
            const auto mappings = request.items<lagtrap_mapping>(1);
            if (mappings.size() != 1) return make_error(ErrorKind::Invalid, "no such mapping");
            TRY_ASSIGN(file, copier_.open_mapped(mappings.front()));
        } else if (kind == InspectionMessage::OpenCodeFile) {
            TRY_ASSIGN(
                OpenedCodeFile opened,
                copier_.open_code_file({pid, 0}, place, request.text(inspected_path_limit_bytes)));
            answer.number(opened.uid);
            answer.number(opened.written_realtime_ns);
            answer.number(opened.size_bytes);
            file = std::move(opened.file);
        } else {
            TRY_ASSIGN(const std::uint64_t copied, copier_.copy({pid, 0}, place, given_.get(),
                                                                request.number<std::uint64_t>()));
            answer.number(copied);
        }
        return answer.take();
    }

    int socket_;
    UniqueFd given_;
    std::vector<std::uint64_t> avoided_devices_;
    DirectInspector inspector_;
    DirectCodeFileCopier copier_;
};

// Following links in /proc/PID/map_files needs CAP_CHECKPOINT_RESTORE, or CAP_SYS_ADMIN, which is
// far more powerful.
Status confine() {
    TRY_ASSIGN(const Capabilities own, own_capabilities());
    const int for_map_files =
        own.has(CAP_CHECKPOINT_RESTORE) ? CAP_CHECKPOINT_RESTORE : CAP_SYS_ADMIN;
    TRY(keep_capabilities({CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, for_map_files}));
    Confinement confinement;
    confinement.messages = confinement.looks_into_processes = true;
    confinement.file_bytes = trace::code_file_limit_bytes;
    return confine_process(confinement);
}

}  // namespace

void serve_inspections(int socket) {
    InspectionService service(socket);
    while (service.serve_one()) {
    }
}

int run_inspector() {
    struct stat facts {};
    if (::fstat(inspector_socket, &facts) != 0 || !S_ISSOCK(facts.st_mode)) {
        std::fprintf(stderr, "%s is for internal use by lagtrapd\n", inspector_argument);
        return exit_usage;
    }
    keep_heap_small();
    (void)::prctl(PR_SET_NAME, "lagtrap-inspect");
    (void)::setpriority(PRIO_PROCESS, 0, 0);
    become_first_oom_victim();
    if (const Status confined = confine(); !confined) {
        std::fprintf(stderr, "%s: %s\n", inspector_argument, confined.error().message.c_str());
        return exit_not_confined;
    }
    serve_inspections(inspector_socket);
    return 0;
}

}  // namespace lagtrap::daemon
