#include "server/ingest/confinement.hpp"

#include "sandbox/confinement.hpp"

namespace lagtrap::server {

Status confine_process() {
    Confinement confinement;
    confinement.address_space_bytes = 2ULL << 30;
    confinement.cpu_seconds = 60;
    return lagtrap::confine_process(confinement);
}

}  // namespace lagtrap::server
