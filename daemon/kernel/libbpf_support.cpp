#include "daemon/kernel/libbpf_support.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

namespace lagtrap::daemon {
namespace {

constexpr std::size_t message_limit_bytes = 4096;

std::string& thread_messages() {
    thread_local std::string messages;
    return messages;
}

// The verifier's log comes as one message, and its reason at the log's end: so the end is what is kept.
int keep_message(libbpf_print_level level, const char* format, std::va_list arguments) {
    if (level != LIBBPF_WARN) return 0;
    std::va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length <= 0) return 0;
    std::string line(static_cast<std::size_t>(length) + 1, '\0');
    std::vsnprintf(line.data(), line.size(), format, arguments);
    line.pop_back();
    std::string& messages = thread_messages();
    messages += line;
    if (messages.size() > message_limit_bytes)
        messages = "..." + messages.substr(messages.size() - message_limit_bytes);
    return 0;
}

bool try_uprobe_multi() {
    // Fails with EBADF where the kernel knows the link type and looks at the path, with EINVAL where it does not.
    const std::array<bpf_insn, 2> instructions{
        {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}}};
    const auto attach_type = static_cast<bpf_attach_type>(trace_uprobe_multi);
    LIBBPF_OPTS(bpf_prog_load_opts, load_options, .expected_attach_type = attach_type);
    const int program =
        bpf_prog_load(BPF_PROG_TYPE_KPROBE, "probe", "GPL", instructions.data(), instructions.size(), &load_options);
    if (program < 0) return false;
    const unsigned long offset = 0;
    LIBBPF_OPTS(bpf_link_create_opts, link_options);
    link_options.uprobe_multi.path = "/";
    link_options.uprobe_multi.offsets = &offset;
    link_options.uprobe_multi.cnt = 1;
    const int link = bpf_link_create(program, -1, attach_type, &link_options);
    const bool known = link == -EBADF;
    if (link >= 0) ::close(link);
    ::close(program);
    return known;
}

}  // namespace

void keep_libbpf_messages() { libbpf_set_print(keep_message); }

std::string take_libbpf_messages() {
    std::string messages = std::exchange(thread_messages(), {});
    while (!messages.empty() && messages.back() == '\n') messages.pop_back();
    std::replace(messages.begin(), messages.end(), '\n', ' ');
    return messages;
}

Error libbpf_error(const std::string& doing, int negative_errno) {
    Error error = system_error(doing, -negative_errno);
    const std::string messages = take_libbpf_messages();
    if (!messages.empty()) error.message += " (" + messages + ")";
    return error;
}

bool has_uprobe_multi() {
    static const bool known = try_uprobe_multi();
    return known;
}

void DestroyLink::operator()(bpf_link* link) const { bpf_link__destroy(link); }

}  // namespace lagtrap::daemon
