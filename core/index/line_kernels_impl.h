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

void Advance(double* base, const double* slope, size_t n, double t) {
  for (size_t i = 0; i < n; ++i) base[i] += slope[i] * t;
}

// The larger of each two. As a comparison and a choice it would be two instructions; the plain form
// of the widest comes from a header that GCC 12 warns about.
Lanes Higher(Lanes a, Lanes b) {
#if defined(__AVX512DQ__)
  return _mm512_maskz_max_pd(0xff, a, b);
#elif defined(__AVX2__)
  return _mm256_max_pd(a, b);
#elif defined(__SSE2__)
  return _mm_max_pd(a, b);
#else
  return a > b ? a : b;
#endif
}

// Of eight lanes by halves, because a loop over them would wait for each comparison.
double HighestLane(Lanes lanes) {
#if defined(__AVX512DQ__)
  const __m256d four = _mm256_max_pd(__builtin_shufflevector(lanes, lanes, 0, 1, 2, 3),
                                     __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7));
  const __m128d two = _mm_max_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_max_sd(two, _mm_unpackhi_pd(two, two)));
#else
  double highest = lanes[0];
  for (size_t k = 1; k < kLanes; ++k) highest = lanes[k] > highest ? lanes[k] : highest;
  return highest;
#endif
}

// The highest and the next highest of what each lane has met, and where it met the highest. Value
// type, thread-compatible.
class Search {
 public:
  void Meet(Lanes values) {
    const Masks higher = values > best_;
    next_ = Higher(next_, higher ? best_ : values);
    place_ = higher ? here_ : place_;
    best_ = Higher(best_, values);
    here_ += static_cast<int64_t>(kLanes);
  }

  HighestValue Finish() const {
    const double highest = HighestLane(best_);
    const int lane = __builtin_ctz(BitsOf(best_ == highest));
    const Lanes others = Numbers() == lane ? next_ : best_;
    return {highest, HighestLane(others), static_cast<size_t>(place_[lane])};
  }

 private:
  static Masks Numbers() {
    Masks numbers = {};
    for (size_t k = 0; k < kLanes; ++k) numbers[k] = static_cast<int64_t>(k);
    return numbers;
  }

  Lanes best_ = All(-__builtin_inf());
  Lanes next_ = All(-__builtin_inf());
  Masks place_ = {};
  Masks here_ = Numbers();
};

HighestValue Find(const double* values, size_t n) {
  Search search;
  for (size_t i = 0; i < n; i += kLanes) search.Meet(Load(values + i));
  return search.Finish();
}

HighestValue Evaluate(const double* base, const double* slope, size_t n, double t, double* values) {
  Search search;
  for (size_t i = 0; i < n; i += kLanes) {
    const Lanes here = Load(base + i) + Load(slope + i) * t;
    __builtin_memcpy(values + i, &here, sizeof(here));
    search.Meet(here);
  }
  return search.Finish();
}

// Appends i + k for each bit k of a vector's lanes.
size_t Append(unsigned bits, size_t i, uint32_t* out, size_t count) {
#if defined(__AVX512VL__)
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i places = _mm256_add_epi32(numbers, _mm256_set1_epi32(static_cast<int>(i)));
  const auto mask = static_cast<__mmask8>(bits);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count),
                      _mm256_maskz_compress_epi32(mask, places));
  return count + static_cast<size_t>(__builtin_popcount(bits));
#else
  for (; bits != 0; bits &= bits - 1) {
    out[count++] = static_cast<uint32_t>(i) + static_cast<uint32_t>(__builtin_ctz(bits));
  }
  return count;
#endif
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
const LineKernels FRESHET_KERNELS = {Evaluate, Find, Advance, NotBelow, Below};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_LINE_KERNELS_IMPL_H_
