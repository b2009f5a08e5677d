#include "tools/cli/examples.h"

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tools/common/command_help.h"

namespace freshet::cli {
namespace {

// Commands for owners of pages, and for workers.
constexpr std::array kPageExamples = {
    CommandExample{"freshet",
                   "  freshet upsert https://example.org/ 2.5\n"
                   "  freshet --server crawl.example.org:7071 --tls stats\n"
                   "  freshet explain https://example.org/\n"},
    CommandExample{"freshet upsert",
                   "  freshet upsert https://example.org/ 2.5 https://example.org/news 10\n"
                   "  freshet upsert --crawl-id shop --max-interval 7d pages.tsv.gz\n"
                   "  zcat urls.gz | freshet upsert --importance 0.5\n"},
    CommandExample{"freshet remove",
                   "  freshet remove https://example.org/old\n"
                   "  freshet remove --crawl-id shop gone.txt\n"},
    CommandExample{"freshet recheck",
                   "  freshet recheck https://example.org/news\n"
                   "  freshet recheck --crawl-id shop urls.txt\n"},
    CommandExample{"freshet get",
                   "  freshet get https://example.org/\n"
                   "  freshet get --json urls.txt\n"},
    CommandExample{"freshet explain",
                   "  freshet explain https://example.org/\n"
                   "  freshet explain --json --crawl-id shop https://example.org/\n"},
    CommandExample{"freshet list",
                   "  freshet list example.org\n"
                   "  freshet list --crawl-id shop --limit 1000 https://example.org/docs/\n"},
    CommandExample{"freshet export",
                   "  freshet export | gzip > pages.jsonl.gz\n"
                   "  freshet export --output pages.jsonl.gz --resume\n"
                   "  freshet export --format tsv --limit 100000 --page-token TOKEN example.org\n"},
    CommandExample{"freshet import",
                   "  freshet import --resume import.state pages.jsonl.gz\n"
                   "  freshet import --dry-run --json crawldb/part-r-00000\n"
                   "  freshet import --format stormcrawler status.jsonl.gz\n"},
    CommandExample{"freshet next",
                   "  freshet next\n"
                   "  freshet next 10 --wait 30s --worker fetcher-1 --json\n"
                   "  freshet next 100 --crawl-id shop --crawl-id news\n"},
    CommandExample{"freshet report",
                   "  freshet report 4711 changed\n"
                   "  freshet report https://example.org/ unchanged 2024-05-17T08:30Z\n"
                   "  freshet report results.jsonl\n"},
    CommandExample{"freshet signal",
                   "  freshet signal https://example.org/news cdn\n"
                   "  freshet signal --sitemap sitemap.xml.gz --since 2024-05-17\n"
                   "  tail -f changes.tsv | freshet signal --each\n"},
    CommandExample{"freshet sitemap",
                   "  freshet sitemap https://example.org/\n"
                   "  freshet sitemap --dry-run sitemap.xml.gz https://example.org/feed.atom\n"
                   "  freshet sitemap --every 30m --source feed https://example.org/feed.rss\n"},
};

// Commands for operators.
constexpr std::array kOperatorExamples = {
    CommandExample{"freshet rate",
                   "  freshet rate\n"
                   "  freshet rate 200\n"},
    CommandExample{"freshet fleet",
                   "  freshet fleet\n"
                   "  freshet --server crawl-b.example.org:7071 fleet --json\n"},
    CommandExample{"freshet fleet drain", "  freshet fleet drain crawl-a --yes\n"},
    CommandExample{"freshet policy",
                   "  freshet policy\n"
                   "  freshet policy default\n"},
    CommandExample{
        "freshet host",
        "  freshet host example.org\n"
        "  freshet host example.org --min-delay 5s --max-crawls 1000/1d --hours 22:00-06:00\n"
        "  freshet host example.org --block-until 2030-01-01\n"},
    CommandExample{"freshet politeness",
                   "  freshet politeness\n"
                   "  freshet politeness --min-delay 2s --max-in-flight 1\n"},
    CommandExample{"freshet pause", "  freshet pause --reason 'network maintenance'\n"},
    CommandExample{"freshet resume", "  freshet resume\n"},
    CommandExample{"freshet epoch", "  freshet epoch --json\n"},
    CommandExample{"freshet checkpoint", "  freshet checkpoint nightly\n"},
    CommandExample{"freshet compact", "  freshet compact\n"},
    CommandExample{"freshet crawls",
                   "  freshet crawls list\n"
                   "  freshet crawls set shop --share 0.25\n"},
    CommandExample{"freshet crawls list", "  freshet crawls list --json\n"},
    CommandExample{"freshet crawls show", "  freshet crawls show shop\n"},
    CommandExample{"freshet crawls set",
                   "  freshet crawls set shop --share 0.25 --max-pages 1000000\n"
                   "  freshet crawls set shop --reset --max-rate 20\n"
                   "  freshet crawls set news --frontier-mode shadow\n"},
    CommandExample{"freshet crawls shadow",
                   "  freshet crawls shadow news\n"
                   "  freshet crawls shadow news --examples 50 --json\n"},
    CommandExample{"freshet crawls delete", "  freshet crawls delete shop --yes\n"},
    CommandExample{"freshet hosts", "  freshet hosts list --prefix www.\n"},
    CommandExample{"freshet hosts list",
                   "  freshet hosts list --contains shop\n"
                   "  freshet hosts list --prefix www. --json\n"},
    CommandExample{"freshet hosts delete", "  freshet hosts delete example.org --yes\n"},
    CommandExample{"freshet log-level",
                   "  freshet log-level\n"
                   "  freshet log-level engine debug\n"
                   "  freshet log-level info\n"},
    CommandExample{"freshet audit",
                   "  freshet audit --limit 20\n"
                   "  freshet audit --since 2026-01-01 --json\n"},
};

// Commands for monitoring, and for the client itself.
constexpr std::array kOtherExamples = {
    CommandExample{"freshet stats",
                   "  freshet stats\n"
                   "  freshet stats --json | jq .schedule.price\n"},
    CommandExample{"freshet health",
                   "  freshet health\n"
                   "  freshet health freshet.v1.SchedulerService || echo restart it\n"},
    CommandExample{"freshet top",
                   "  freshet top\n"
                   "  freshet top --once --interval 10\n"},
    CommandExample{"freshet trust",
                   "  freshet trust\n"
                   "  freshet trust --source sitemap --host example.org --limit 5\n"},
    CommandExample{"freshet sources",
                   "  freshet sources\n"
                   "  freshet sources --add cdn\n"},
    CommandExample{"freshet auth",
                   "  freshet auth check\n"
                   "  freshet auth hash-token --generate worker.token\n"},
    CommandExample{"freshet auth hash-token",
                   "  freshet auth hash-token --generate worker.token\n"
                   "  freshet auth hash-token < worker.token\n"},
    CommandExample{"freshet auth check", "  freshet auth check --token-file worker.token\n"},
    CommandExample{"freshet restore",
                   "  freshet restore /var/lib/freshet/checkpoints/nightly /var/lib/freshet-new\n"},
    CommandExample{
        "freshet completion",
        "  freshet completion bash > ~/.local/share/bash-completion/completions/freshet\n"
        "  eval \"$(freshet completion zsh)\"\n"},
    CommandExample{"freshet version", "  freshet version --json\n"},
};

}  // namespace

void AddExamples(CLI::App& app, const std::string& footer) {
  std::vector<CommandExample> examples;
  for (const std::span<const CommandExample> part :
       {std::span<const CommandExample>(kPageExamples),
        std::span<const CommandExample>(kOperatorExamples),
        std::span<const CommandExample>(kOtherExamples)}) {
    examples.insert(examples.end(), part.begin(), part.end());
  }
  FinishHelp(app, examples, footer);
}

}  // namespace freshet::cli
