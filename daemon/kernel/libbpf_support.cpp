#include "daemon/kernel/libbpf_support.hpp"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "bpf/kernel_features.hpp"
#include "core/fault_point.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t message_limit_bytes = 4096;

std::string& thread_messages() {
    thread_local std::string messages;
    return messages;
}

// The verifier's log is one message with the reason at its end, so keep the end.
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

// The fault point lets tests behave as if the kernel had no such links.
Status ask_uprobe_multi() {
    FAULT_POINT("kernel.uprobe_multi");
    return bpf::has_uprobe_multi()
               ? success()
               : Status(make_error(ErrorKind::Unsupported, "not supported by this kernel"));
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
    static const bool known = ask_uprobe_multi().ok();
    return known;
}

void expect_uprobes(std::initializer_list<bpf_program*> programs) {
    if (!has_uprobe_multi()) return;
    for (bpf_program* program : programs)
        bpf_program__set_expected_attach_type(
            program, static_cast<bpf_attach_type>(bpf::trace_uprobe_multi));
}

void DestroyLink::operator()(bpf_link* link) const { bpf_link__destroy(link); }

}  // namespace lagtrap::daemon
