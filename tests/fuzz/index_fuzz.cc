// Tests the price index against its twin. The bytes of the input serve as random numbers of eight
// bytes each. The run ends with the input.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/base/check.h"
#include "core/model/policy.h"
#include "tests/support/index_twins.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr const char* kPolicies[] = {"greedy",          "greedy_cis",  "greedy_ncis",
                                       "ncis_approx_2",   "harmonic",    "harmonic_ncis",
                                       "greedy_cis_plus", "new_content", "ncis_approx_5"};
  if (size < 2) return 0;
  const char* policy = kPolicies[data[0] % std::size(kPolicies)];
  const uint32_t pages = 2 + data[1] % 200;
  size_t next = 2;
  uint64_t state = 0;
  // The bytes are mixed, so that a few bytes reach many states.
  const auto draw = [&]() -> uint64_t {
    uint64_t word = 0;
    const size_t taken = next < size ? (size - next < 4 ? size - next : 4) : 0;
    std::memcpy(&word, data + next, taken);
    next += taken;
    state += word + 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  freshet::IndexTwins twins(*freshet::ParsePolicy(policy), {.pages = pages, .hosts = 5}, draw);
  for (int step = 0; step < 2000 && (next < size || step < 50); ++step) {
    const std::string difference = twins.Step();
    CHECK(difference.empty(), "{}: step {}: {}", policy, step, difference);
  }
  return 0;
}
