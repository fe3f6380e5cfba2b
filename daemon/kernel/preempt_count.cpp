#include "daemon/kernel/preempt_count.hpp"

#include <bpf/btf.h>

#include <span>
#include <string_view>

#include "daemon/kernel/kernel_types.hpp"

namespace lagtrap::daemon {
namespace {

// Byte offset of a member, including members of anonymous structs and unions.
std::optional<std::int64_t> offset_of_member(const btf* types, std::uint32_t id,
                                             std::string_view name, int depth = 0) {
    const btf_type* type = ::btf__type_by_id(types, id);
    if (type == nullptr || !::btf_is_composite(type) || depth > 4) return std::nullopt;
    for (std::uint32_t i = 0; i < ::btf_vlen(type); ++i) {
        const btf_member& member = ::btf_members(type)[i];
        const std::string_view member_name = ::btf__name_by_offset(types, member.name_off);
        const std::int64_t at = ::btf_member_bit_offset(type, i) / 8;
        if (member_name == name) return at;
        if (!member_name.empty()) continue;
        if (const auto inner = offset_of_member(types, member.type, name, depth + 1))
            return at + *inner;
    }
    return std::nullopt;
}

}  // namespace

// kallsyms would also tell, but may omit data symbols. All per-CPU variables have the layout of the
// image.
std::optional<std::int64_t> preempt_count_after_run_queue() {
    const auto types = kernel_types();
    if (!types) return std::nullopt;
    const std::int32_t section_id =
        ::btf__find_by_name_kind(types.get(), ".data..percpu", BTF_KIND_DATASEC);
    if (section_id < 0) return std::nullopt;
    const btf_type* section =
        ::btf__type_by_id(types.get(), static_cast<std::uint32_t>(section_id));
    std::optional<std::int64_t> run_queue, count;
    for (const btf_var_secinfo& place :
         std::span(::btf_var_secinfos(section), ::btf_vlen(section))) {
        const btf_type* variable = ::btf__type_by_id(types.get(), place.type);
        const std::string_view name = ::btf__name_by_offset(types.get(), variable->name_off);
        if (name == "runqueues") run_queue = place.offset;
        if (name == "__preempt_count") count = place.offset;
        if (name == "pcpu_hot") {  // Linux 6.2 to 6.14
            const auto inner = offset_of_member(types.get(), variable->type, "preempt_count");
            if (inner) count = place.offset + *inner;
        }
    }
    if (!run_queue || !count) return std::nullopt;
    return *count - *run_queue;
}

}  // namespace lagtrap::daemon
