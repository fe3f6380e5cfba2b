#include "daemon/kernel/shared_maps.hpp"

#include <bpf/libbpf.h>

#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {

Status share_maps(const std::vector<std::pair<bpf_map*, int>>& maps, const std::string& doing) {
    for (const auto& [map, descriptor] : maps)
        if (const int failed = bpf_map__reuse_fd(map, descriptor); failed != 0)
            return libbpf_error(doing, failed);
    return success();
}

}  // namespace lagtrap::daemon
