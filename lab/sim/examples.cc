#include "lab/sim/examples.h"

#include <array>

namespace freshet {

std::span<const CommandExample> SimExamples() {
  static constexpr std::array kExamples = {
      CommandExample{"freshet-sim",
                     "  freshet-sim worlds\n"
                     "  freshet-sim compare --world churn --policies default,uniform,pings_first\n"
                     "  freshet-sim what-if --server 127.0.0.1:7071\n"},
      CommandExample{"freshet-sim compare",
                     "  freshet-sim compare --world churn --policies default,uniform,pings_first\n"
                     "  freshet-sim worlds --world churn --out churn.tsv\n"
                     "  freshet-sim compare --history churn=churn.tsv --policies "
                     "uniform,pings_first --subject uniform --rates 2,5\n"},
      CommandExample{"freshet-sim estimate",
                     "  printf 'id\\tobservations\\na\\t1:0:0,1:0:1,2:0:1\\n' > crawls.tsv\n"
                     "  freshet-sim estimate --method mle crawls.tsv\n"},
      CommandExample{"freshet-sim fleet",
                     "  freshet-sim fleet --pages 20000 --hosts 400 --days 2\n"
                     "  freshet-sim fleet --pages 20000 --hosts 400 --days 2 --deaths 1 --json\n"},
      CommandExample{"freshet-sim paper",
                     "  freshet-sim paper list\n"
                     "  freshet-sim paper ncis-fig2 --repeats 1 --pages 100 --horizon 20\n"},
      CommandExample{"freshet-sim plan",
                     "  printf 'id\\timportance\\tchange_rate\\tcomplete\\na\\t1\\t0.5\\t0\\nb\\t2"
                     "\\t0.1\\t0\\n' > pages.tsv\n"
                     "  freshet-sim plan --method lds --rate 1 pages.tsv\n"},
      CommandExample{
          "freshet-sim replay",
          "  freshet-sim replay --world churn --policy pings_first\n"
          "  freshet-sim worlds --world churn --out churn.tsv\n"
          "  freshet-sim replay --history churn.tsv --crawls-per-day 5 --policy uniform\n"},
      CommandExample{
          "freshet-sim run",
          "  freshet-sim run --policy greedy_ncis --pages 200 --rate 20 --horizon 100\n"},
      CommandExample{"freshet-sim value",
                     "  printf 'policy\\timportance\\tchange_rate\\trecall\\tfalse_signal_rate\\t"
                     "elapsed\\tsignals\\ngreedy\\t1\\t0.5\\t0\\t0\\t3\\t0\\n' > state.tsv\n"
                     "  freshet-sim value state.tsv\n"},
      CommandExample{"freshet-sim what-if",
                     "  freshet-sim what-if --server 127.0.0.1:7071\n"
                     "  printf 'id\\timportance\\tchange_rate\\na\\t1\\t0.5\\nb\\t2\\t0.1\\n' > "
                     "pages.tsv\n"
                     "  freshet-sim what-if --pages pages.tsv --crawls-per-day 1\n"},
      CommandExample{"freshet-sim worlds",
                     "  freshet-sim worlds\n"
                     "  freshet-sim worlds --world churn --out churn.tsv\n"},
  };
  return kExamples;
}

}  // namespace freshet
