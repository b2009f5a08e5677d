// The passes of line_kernels.h for one vector width. Included once by each file that is compiled
// for an instruction set. FRESHET_LANES is the number of doubles in a vector, and FRESHET_KERNELS
// is the name of the table. Nothing here may be shared with other files, not even an inline
// function of the standard library: the linker keeps one copy, which might use instructions that
// the processor does not have.
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

// The lanes for which a condition is true. AVX-512 has mask registers for this. Without the
// intrinsics, the compiler would convert each comparison into a vector and back.
#if defined(__AVX512DQ__)
using Chosen = __mmask8;
Chosen Above(Lanes a, Lanes b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
Chosen NotLess(Lanes a, Lanes b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
Chosen Equal(Lanes a, Lanes b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
Lanes Choose(Chosen chosen, Lanes yes, Lanes no) { return _mm512_mask_blend_pd(chosen, no, yes); }
Masks Choose(Chosen chosen, Masks yes, Masks no) {
  return reinterpret_cast<Masks>(_mm512_mask_blend_epi64(chosen, reinterpret_cast<__m512i>(no),
                                                         reinterpret_cast<__m512i>(yes)));
}
// A bit for each lane.
unsigned BitsOf(Chosen chosen) { return chosen; }
// The number in the first lane that is chosen.
int64_t FirstOf(Chosen chosen, Masks numbers) {
  const __m512i first = _mm512_maskz_compress_epi64(chosen, reinterpret_cast<__m512i>(numbers));
  return reinterpret_cast<Masks>(first)[0];
}
#else
using Chosen = Masks;
Chosen Above(Lanes a, Lanes b) { return a > b; }
Chosen NotLess(Lanes a, Lanes b) { return a >= b; }
Chosen Equal(Lanes a, Lanes b) { return a == b; }
Lanes Choose(Chosen chosen, Lanes yes, Lanes no) { return chosen ? yes : no; }
Masks Choose(Chosen chosen, Masks yes, Masks no) { return chosen ? yes : no; }
unsigned BitsOf(Chosen chosen) {
#if defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(chosen)));
#elif defined(__SSE2__)
  return static_cast<unsigned>(_mm_movemask_pd(reinterpret_cast<__m128d>(chosen)));
#else
  unsigned bits = 0;
  for (size_t k = 0; k < kLanes; ++k) bits |= chosen[k] != 0 ? 1u << k : 0;
  return bits;
#endif
}
int64_t FirstOf(Chosen chosen, Masks numbers) { return numbers[__builtin_ctz(BitsOf(chosen))]; }
#endif

void Advance(double* base, const double* slope, size_t n, double t) {
  for (size_t i = 0; i < n; ++i) base[i] += slope[i] * t;
}

// The larger number of each pair. A comparison and a choice would be two instructions. The standard
// intrinsic for AVX-512 is in a header that makes GCC 12 warn, so its masked form is used.
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

// Compares eight lanes by halves, because a loop over the lanes would wait for each comparison.
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

// The highest and the second highest number that each lane has seen, and the place of the highest.
// Value type, thread-compatible.
class Search {
 public:
  void Meet(Lanes values) {
    const Chosen higher = Above(values, best_);
    next_ = Higher(next_, Choose(higher, best_, values));
    place_ = Choose(higher, here_, place_);
    best_ = Higher(best_, values);
    here_ += static_cast<int64_t>(kLanes);
  }

  HighestValue Finish() const {
    const double highest = HighestLane(best_);
    const Chosen top = Equal(best_, All(highest));
    const unsigned bits = BitsOf(top);
    // If several lanes have the highest number, the next highest is equal to it.
    const double next = HighestLane(Choose(top, next_, best_));
    return {highest, (bits & (bits - 1)) != 0 ? highest : next,
            static_cast<size_t>(FirstOf(top, place_))};
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

// Appends i + k for each bit k that is set in `bits`.
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
    count =
        Append(BitsOf(NotLess(Load(base + i) + Load(slope + i) * t, All(level))), i, out, count);
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
    count = Append(BitsOf(Above(All(level), Load(values + i))), i, out, count);
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
