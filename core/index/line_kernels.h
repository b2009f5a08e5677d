// Passes over many lines at once, the inner loops of the band.
//
// The lines of a band are held by columns and not by rows, because a pass reads two numbers of
// each and eight of them fit into a register.
//
// A line is base[i] + slope[i] t. The passes are compiled for several widths of vectors and chosen
// by what the processor can do, so that one build runs anywhere; results are the same to the last
// bit for all widths (no fused operations).
#ifndef FRESHET_CORE_INDEX_LINE_KERNELS_H_
#define FRESHET_CORE_INDEX_LINE_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace freshet {

struct HighestValue {
  double value = 0;
  double next = 0;   // the highest of the others; -infinity: there is none
  size_t place = 0;  // of `value`; of equal values any
};

// Padded arrays go on for this many numbers behind those they hold.
inline constexpr size_t kLinePadding = 8;

// No number is NaN or -infinity; slopes and times are finite. Arrays need no alignment. Immutable,
// hence thread-safe.
struct LineKernels {
  // values[i] = base[i] + slope[i] t, and the highest of them. All three arrays are padded, `base`
  // with -infinity and `slope` with any finite numbers; `values` is then too. Precondition: n > 0.
  HighestValue (*evaluate)(const double* base, const double* slope, size_t n, double t,
                           double* values);
  // Of numbers in an array that is padded with -infinity. Precondition: n > 0.
  HighestValue (*find_highest)(const double* values, size_t n);
  // base[i] += slope[i] t.
  void (*advance)(double* base, const double* slope, size_t n, double t);
  // Writes to `out`, which is padded and has room for n, the places of the lines that are not below
  // `level` at t, in order; returns how many.
  size_t (*select_not_below)(const double* base, const double* slope, size_t n, double t,
                             double level, uint32_t* out);
  // The same of all values[i] < level.
  size_t (*select_below)(const double* values, size_t n, double level, uint32_t* out);
};

// The widest that this processor has.
[[nodiscard]] const LineKernels& BestLineKernels();
// All that it has, with their names, narrowest first: for tests and benchmarks. Writes at most 3.
struct NamedLineKernels {
  const char* name = nullptr;
  const LineKernels* kernels = nullptr;
};
[[nodiscard]] size_t ListLineKernels(NamedLineKernels (&list)[3]);

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_LINE_KERNELS_H_
