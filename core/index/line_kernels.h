// Passes over many lines at once, the inner loops of the band.
//
// A band holds its lines by columns and not by rows, because a pass reads two numbers of each and
// eight of them fit into a register.
//
// A line is base[i] + slope[i] t. The passes are compiled for several widths of vectors and chosen
// for the processor at run time, so that one build runs anywhere; results are the same to the last
// bit for all widths (no fused operations).
#ifndef FRESHET_CORE_INDEX_LINE_KERNELS_H_
#define FRESHET_CORE_INDEX_LINE_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace freshet {

struct HighestValue {
  double value = 0;
  double next = 0;   // the highest of the others; -infinity = none
  size_t place = 0;  // the place of `value`; of equal values any
};

// Padded arrays have this many numbers behind their contents.
inline constexpr size_t kLinePadding = 8;

// No number is NaN or -infinity; slopes and times are finite. Arrays need no alignment. Immutable,
// hence thread-safe.
struct LineKernels {
  // Sets values[i] = base[i] + slope[i] t and returns the highest. All three arrays are padded,
  // `base` with -infinity and `slope` with any finite numbers; `values` then is too. Precondition:
  // n > 0.
  HighestValue (*evaluate)(const double* base, const double* slope, size_t n, double t,
                           double* values);
  // The highest number of an array that is padded with -infinity. Precondition: n > 0.
  HighestValue (*find_highest)(const double* values, size_t n);
  // base[i] += slope[i] t.
  void (*advance)(double* base, const double* slope, size_t n, double t);
  // Writes to `out`, which is padded and has room for n, the places of the lines that are not below
  // `level` at t, in order; returns how many.
  size_t (*select_not_below)(const double* base, const double* slope, size_t n, double t,
                             double level, uint32_t* out);
  // Writes the places of all values[i] < level in the same way.
  size_t (*select_below)(const double* values, size_t n, double level, uint32_t* out);
};

// The widest kernels of this processor.
[[nodiscard]] const LineKernels& BestLineKernels();
// Lists all kernels of this processor with their names, narrowest first, at most 3: for tests and
// benchmarks.
struct NamedLineKernels {
  const char* name = nullptr;
  const LineKernels* kernels = nullptr;
};
[[nodiscard]] size_t ListLineKernels(NamedLineKernels (&list)[3]);

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_LINE_KERNELS_H_
