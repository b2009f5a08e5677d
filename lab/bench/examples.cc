#include <array>

#include "lab/bench/commands.h"

namespace freshet {

std::span<const CommandExample> BenchExamples() {
  static constexpr std::array kExamples = {
      CommandExample{"freshet-bench",
                     "  freshet-bench plan --pages 100000\n"
                     "  freshet-bench serve --pages 20000 --mode next --workers 4 --seconds 1\n"},
      CommandExample{"freshet-bench epoch", "  freshet-bench epoch --pages 20000 --epochs 1\n"},
      CommandExample{"freshet-bench first-hour",
                     "  freshet-bench first-hour --pages 10000 --hosts 1000 --layers index\n"},
      CommandExample{"freshet-bench index",
                     "  freshet-bench index --pages 100000 --against heap --seconds 0.5\n"},
      CommandExample{"freshet-bench plan",
                     "  freshet-bench plan --pages 100000 --method lds,blc\n"},
      CommandExample{"freshet-bench promises",
                     "  freshet-bench promises --pages 20000 --rate 100 --beside nothing,signals "
                     "--seconds 2\n"},
      CommandExample{"freshet-bench store", "  freshet-bench store --pages 2000 --crawls 3\n"},
      CommandExample{"freshet-bench recover",
                     "  freshet-bench recover --pages 20000 --log-rows 5000\n"},
      CommandExample{"freshet-bench serve",
                     "  freshet-bench serve --pages 20000 --mode next --workers 4 --seconds 1\n"
                     "  freshet-bench serve --pages 20000 --mode crawl --in-process --seconds 1\n"},
      CommandExample{"freshet-bench switch",
                     "  freshet-bench switch --pages 20000 --seconds 0.5\n"},
  };
  return kExamples;
}

}  // namespace freshet
