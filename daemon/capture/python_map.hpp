// The table from which BPF programs know where processes keep what their Python threads run.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/python.h"

struct bpf_map;

namespace lagtrap::daemon {

class PythonPlaces {
  public:
    virtual ~PythonPlaces() = default;
    virtual void set(std::uint32_t pid, const lagtrap_python& place) = 0;
    virtual void forget(std::uint32_t pid) = 0;
    // Includes forks that BPF programs added.
    [[nodiscard]] virtual std::vector<std::uint32_t> processes() const = 0;
};

// Thread-safe. The map and `runs`, its flag, belong to loaded programs
// (bpf/python_frames.bpf.h), which must outlive it.
class PythonMap : public PythonPlaces {
  public:
    PythonMap(bpf_map* map, volatile std::uint32_t* runs) : map_(map), runs_(runs) {}

    void set(std::uint32_t pid, const lagtrap_python& place) override;
    void forget(std::uint32_t pid) override;
    [[nodiscard]] std::vector<std::uint32_t> processes() const override;

  private:
    bpf_map* map_;
    volatile std::uint32_t* runs_;
};

}  // namespace lagtrap::daemon
