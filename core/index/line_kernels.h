// Passes over many lines (core/index/band_lines.h) at once: the inner loops of AwakeBand.
//
// A band stores its lines by column, because a pass reads two numbers of each line, and eight
// numbers fit into a register.
//
// A line is base[i] + slope[i] t. The passes are compiled for several vector widths, and the width
// is chosen for the processor at run time, so one build runs anywhere. The results are
// bit-identical for all widths, because no fused operations are used.
#ifndef FRESHET_CORE_INDEX_LINE_KERNELS_H_
#define FRESHET_CORE_INDEX_LINE_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace freshet {

struct HighestValue {
  double value = 0;
  double next = 0;   // the highest of the other values; -infinity = none
  size_t place = 0;  // a place of `value`; any of them if several are equal
};

// Padded arrays have this many extra numbers at the end.
inline constexpr size_t kLinePadding = 8;

// No number is NaN or -infinity, and slopes and times are finite. Arrays need no alignment.
// Immutable, and therefore thread-safe.
struct LineKernels {
  // Sets values[i] = base[i] + slope[i] t and returns the highest value. All three arrays are
  // padded, `base` with -infinity and `slope` with any finite numbers. The padding of `values`
  // becomes -infinity. Precondition: n > 0.
  HighestValue (*evaluate)(const double* base, const double* slope, size_t n, double t,
                           double* values);
  // The highest number of an array that is padded with -infinity. Precondition: n > 0.
  HighestValue (*find_highest)(const double* values, size_t n);
  // base[i] += slope[i] t.
  void (*advance)(double* base, const double* slope, size_t n, double t);
  // Writes to `out` the places of the lines that are at least `level` at t, in order, and returns
  // their number. `out` is padded and has room for n.
  size_t (*select_not_below)(const double* base, const double* slope, size_t n, double t,
                             double level, uint32_t* out);
  // Writes the places of all values[i] < level in the same way.
  size_t (*select_below)(const double* values, size_t n, double level, uint32_t* out);
};

// The widest kernels that this processor supports.
[[nodiscard]] const LineKernels& BestLineKernels();
// Lists all kernels that this processor supports, with their names, the narrowest first. There are
// at most 3. For tests and benchmarks.
struct NamedLineKernels {
  const char* name = nullptr;
  const LineKernels* kernels = nullptr;
};
[[nodiscard]] size_t ListLineKernels(NamedLineKernels (&list)[3]);

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_LINE_KERNELS_H_
