// The passes of line_kernels.h for one width of vectors. Included once in each file that is
// compiled for an instruction set, with FRESHET_LANES doubles to a vector and FRESHET_KERNELS the
// name of the table. Nothing here may be shared with other files, not even an inline function of
// the library: the linker keeps one copy, and that might be one the processor cannot run.
#ifndef FRESHET_CORE_INDEX_LINE_KERNELS_IMPL_H_
#define FRESHET_CORE_INDEX_LINE_KERNELS_IMPL_H_

#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "core/index/line_kernels.h"

namespace freshet {
namespace {

constexpr size_t kLanes = FRESHET_LANES;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using Masks = int64_t __attribute__((vector_size(kLanes * sizeof(int64_t))));

Lanes Load(const double* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

Lanes All(double x) {
  Lanes lanes = {};
  return lanes + x;
}

// A bit for each lane that is true.
unsigned BitsOf(Masks masks) {
#if defined(__AVX512DQ__)
  return static_cast<unsigned>(_mm512_movepi64_mask(reinterpret_cast<__m512i>(masks)));
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(masks)));
#elif defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_pd(reinterpret_cast<__m128d>(masks)));
#else
  unsigned bits = 0;
  for (size_t k = 0; k < kLanes; ++k) bits |= masks[k] != 0 ? 1u << k : 0;
  return bits;
#endif
}

void Evaluate(const double* base, const double* slope, size_t n, double t, double* values) {
  for (size_t i = 0; i < n; ++i) values[i] = base[i] + slope[i] * t;
}

void Advance(double* base, const double* slope, size_t n, double t) {
  for (size_t i = 0; i < n; ++i) base[i] += slope[i] * t;
}

// The lanes of the highest values and those of the next highest.
struct Leaders {
  Lanes best;
  Lanes next;
};

Leaders Lead(const double* values, size_t blocks) {
  const Lanes lowest = All(-__builtin_inf());
  Leaders result = {lowest, lowest};
  for (size_t i = 0; i < blocks; ++i) {
    const Lanes here = Load(values + i * kLanes);
    const Lanes lesser = here > result.best ? result.best : here;
    result.best = here > result.best ? here : result.best;
    result.next = lesser > result.next ? lesser : result.next;
  }
  return result;
}

// The first place that equals `highest`, which one does.
size_t Place(const double* values, double highest, size_t n) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const unsigned equal = BitsOf(Load(values + i) == highest);
    if (equal != 0) return i + static_cast<size_t>(__builtin_ctz(equal));
  }
  while (i + 1 < n && values[i] != highest) ++i;
  return i;
}

HighestValue Find(const double* values, size_t n) {
  const size_t blocks = n / kLanes;
  const Leaders leaders = Lead(values, blocks);
  double highest = -__builtin_inf();
  double next = highest;
  const auto meet = [&](double value) {
    const double lesser = value > highest ? highest : value;
    highest = value > highest ? value : highest;
    next = lesser > next ? lesser : next;
  };
  for (size_t k = 0; k < kLanes; ++k) meet(leaders.best[k]);
  for (size_t k = 0; k < kLanes; ++k) next = leaders.next[k] > next ? leaders.next[k] : next;
  for (size_t i = blocks * kLanes; i < n; ++i) meet(values[i]);
  return {highest, next, Place(values, highest, n)};
}

// Appends i + k for each bit k.
size_t Append(unsigned bits, size_t i, uint32_t* out, size_t count) {
  for (; bits != 0; bits &= bits - 1) {
    out[count++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
  }
  return count;
}

size_t NotBelow(const double* base, const double* slope, size_t n, double t, double level,
                uint32_t* out) {
  size_t count = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    count = Append(BitsOf(Load(base + i) + Load(slope + i) * t >= level), i, out, count);
  }
  for (; i < n; ++i) {
    if (base[i] + slope[i] * t >= level) out[count++] = static_cast<uint32_t>(i);
  }
  return count;
}

size_t Below(const double* values, size_t n, double level, uint32_t* out) {
  size_t count = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    count = Append(BitsOf(Load(values + i) < level), i, out, count);
  }
  for (; i < n; ++i) {
    if (values[i] < level) out[count++] = static_cast<uint32_t>(i);
  }
  return count;
}

}  // namespace

extern const LineKernels FRESHET_KERNELS;
const LineKernels FRESHET_KERNELS = {Evaluate, Advance, Find, NotBelow, Below};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_LINE_KERNELS_IMPL_H_
