#include "daemon/kernel/kernel_types.hpp"

#include <bpf/btf.h>

#include <mutex>

namespace lagtrap::daemon {

std::shared_ptr<const btf> kernel_types() {
    static std::mutex mutex;
    static std::weak_ptr<const btf> held;
    const std::scoped_lock lock(mutex);
    if (auto types = held.lock()) return types;
    btf* const read = ::btf__load_vmlinux_btf();
    if (read == nullptr) return nullptr;
    std::shared_ptr<const btf> types(std::shared_ptr<btf>(read, ::btf__free));
    held = types;
    return types;
}

}  // namespace lagtrap::daemon
