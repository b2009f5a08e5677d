#define FRESHET_LANES 2
#define FRESHET_KERNELS kBaselineLineKernels
#include "core/index/line_kernels_impl.h"
