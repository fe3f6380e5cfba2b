#include "binaries/reader/reader_service.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <new>
#include <optional>

#include "binaries/elf/elf_image.hpp"
#include "binaries/reader/call_messages.hpp"
#include "binaries/reader/name_messages.hpp"
#include "binaries/reader/place_messages.hpp"
#include "binaries/reader/reader_messages.hpp"
#include "core/files.hpp"
#include "core/heap.hpp"
#include "core/passed_file.hpp"
#include "sandbox/confinement.hpp"
#include "sandbox/file_broker.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t message_limit_bytes = 4096;
constexpr std::size_t name_limit_bytes = 8192;
constexpr std::uint64_t state_limit_bytes = 16 << 20;  // podman keeps one file for all containers

struct Request {
    ReaderHead head;
    UniqueFd file;
    std::string body;
};

bool receive(char* into, std::size_t size, UniqueFd* file) {
    while (size > 0) {
        UniqueFd given;
        const ssize_t got = receive_with_file(reader_socket, into, size, given);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        if (given.valid() && file != nullptr) *file = std::move(given);
        into += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

std::optional<Request> next_request() {
    Request request;
    if (!receive(reinterpret_cast<char*>(&request.head), sizeof request.head, &request.file))
        return std::nullopt;
    if (request.head.body_bytes > max_request_bytes || !request.file.valid()) return std::nullopt;
    request.body.resize(request.head.body_bytes);
    if (!receive(request.body.data(), request.body.size(), nullptr)) return std::nullopt;
    return request;
}

Result<ProgramFile> open_program(Request& request, WireReader& body) {
    const std::string name = body.text(name_limit_bytes);
    return ProgramFile::from_file(std::move(request.file), name);
}

Result<std::string> table_answer(Request& request, WireReader& body) {
    const std::string name = body.text(name_limit_bytes);
    const std::string wanted = body.text(name_limit_bytes);
    TRY_ASSIGN(const ElfImage image, ElfImage::from_file(std::move(request.file), name));
    if (!wanted.empty() && image.build_id() != wanted)
        return make_error(ErrorKind::Vanished, "a different file is there now");
    TRY_ASSIGN(const UnwindTable table, make_unwind_table(image));
    return encode_table(table);
}

Result<std::string> program_answer(Request& request, WireReader& body) {
    TRY_ASSIGN(const ProgramFile file, open_program(request, body));
    return encode_program(file.facts());
}

Result<std::string> functions_answer(Request& request, WireReader& body) {
    TRY_ASSIGN(const ProgramFile file, open_program(request, body));
    const std::string wanted = body.text(name_limit_bytes);
    TRY_ASSIGN(const auto functions,
               wanted.empty() ? file.functions() : file.find_functions(wanted));
    return encode_functions(functions);
}

Result<std::string> container_answer(Request& request, WireReader& body) {
    const auto kind = static_cast<ContainerFile>(body.number<std::uint32_t>());
    const std::string id = body.text(container_texts_limit);
    TRY_ASSIGN(const std::string content, read_all(request.file.get(), state_limit_bytes));
    TRY_ASSIGN(const ContainerFacts facts, parse_container_state(content, kind, id));
    return encode_container(facts);
}

Result<std::string> variable_answer(Request& request, WireReader& body) {
    const std::string name = body.text(name_limit_bytes);
    TRY_ASSIGN(const ElfImage image, ElfImage::from_file(std::move(request.file), "file"));
    TRY_ASSIGN(const ThreadVariable variable, find_thread_variable(image, name));
    return encode_thread_variable(variable);
}

Result<std::string> python_answer(Request& request) {
    TRY_ASSIGN(const ElfImage image, ElfImage::from_file(std::move(request.file), "file"));
    TRY_ASSIGN(const lagtrap_python layout, find_python_layout(image));
    return encode_python_layout(layout);
}

Result<std::string> answer_to(Request& request) {
    WireReader body(request.body);
    switch (static_cast<ReaderTask>(request.head.task_or_error)) {
        case ReaderTask::BuildId: return encode_build_id(read_build_id(request.file.get()));
        case ReaderTask::Table: return table_answer(request, body);
        case ReaderTask::Program: return program_answer(request, body);
        case ReaderTask::Functions: return functions_answer(request, body);
        case ReaderTask::Probes: {
            TRY_ASSIGN(const ProgramFile file, open_program(request, body));
            TRY_ASSIGN(const auto probes, file.usdt_probes());
            return encode_probes(probes);
        }
        case ReaderTask::Exits: {
            TRY_ASSIGN(const ProgramFile file, open_program(request, body));
            TRY_ASSIGN(const FunctionExits exits, function_exits(file, decode_function(body)));
            return encode_exits(exits);
        }
        case ReaderTask::Places: {
            TRY_ASSIGN(const ProgramFile file, open_program(request, body));
            TRY_ASSIGN(const auto places, function_places(file, decode_queries(body)));
            return encode_places(places);
        }
        case ReaderTask::Code: {
            TRY_ASSIGN(const ProgramFile file, open_program(request, body));
            TRY_ASSIGN(const std::string code, file.code_at(body.number<std::uint64_t>()));
            return encode_code(code);
        }
        case ReaderTask::Calls: {
            TRY_ASSIGN(const ProgramFile file, open_program(request, body));
            const auto functions = body.items<std::uint64_t>(max_call_queries);
            TRY_ASSIGN(const auto calls, function_calls(file, functions));
            return encode_calls(calls);
        }
        case ReaderTask::Container: return container_answer(request, body);
        case ReaderTask::ThreadVariable: return variable_answer(request, body);
        case ReaderTask::PythonLayout: return python_answer(request);
        case ReaderTask::Names: {
            TRY_ASSIGN(const PlaceNamesRequest wanted, decode_names_request(request.body));
            TRY_ASSIGN(const PlaceNames names, name_places(request.file, wanted));
            return encode_names(names);
        }
    }
    return make_error(ErrorKind::Invalid, "an unknown task");
}

bool write_answer(const Result<std::string>& answer) {
    ReaderHead head;
    std::string_view body;
    if (answer) {
        body = *answer;
    } else {
        head.task_or_error = 1 + static_cast<std::uint32_t>(answer.error().kind);
        body = std::string_view(answer.error().message).substr(0, message_limit_bytes);
    }
    head.body_bytes = body.size();
    return write_all(reader_socket, &head, sizeof head).ok() &&
           write_all(reader_socket, body.data(), body.size()).ok();
}

// Returns the remaining user; even asking for that is impossible later.
Result<std::uint32_t> give_up_everything(int nice) {
    (void)::setpriority(PRIO_PROCESS, 0, nice);
    TRY(drop_privileges());
    const std::uint32_t user = ::geteuid();
    Confinement confinement;
    confinement.messages = true;
    TRY(confine_process(confinement));
    return user;
}

}  // namespace

int run_reader(int nice) {
    const auto user = give_up_everything(nice);
    if (!user) {
        std::fprintf(stderr, "lagtrap-reader: %s\n", user.error().message.c_str());
        return reader_not_confined;
    }
    ::close(STDERR_FILENO);
    const ReaderHead greeting{reader_greeting, *user, 0};
    if (!write_all(reader_socket, &greeting, sizeof greeting)) return 0;
    BrokeredFiles files{UniqueFd(reader_files_socket)};
    use_file_access(&files);
    while (auto request = next_request()) {
        Result<std::string> answer =
            make_error(ErrorKind::TooLarge, "reading it takes more memory than allowed");
        try {
            answer = answer_to(*request);
        } catch (const std::bad_alloc&) {
        }
        request->file = UniqueFd();  // closed before whoever asked for it goes on
        if (!write_answer(answer)) break;
        answer = std::string();
        return_free_memory();
    }
    return 0;
}

}  // namespace lagtrap::binaries
