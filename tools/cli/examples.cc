#include "tools/cli/examples.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace freshet::cli {
namespace {

// The lines of one command, which is named by its path.
struct Example {
  std::string_view command;
  std::string_view lines;
};

// Of who has pages and of workers.
constexpr std::array kPageExamples = {
    Example{"freshet",
            "  freshet upsert https://example.org/ 2.5\n"
            "  freshet --server crawl.example.org:7071 --tls stats\n"
            "  freshet explain https://example.org/\n"},
    Example{"freshet upsert",
            "  freshet upsert https://example.org/ 2.5 https://example.org/news 10\n"
            "  freshet upsert --crawl-id shop --max-interval 7d pages.tsv.gz\n"
            "  zcat urls.gz | freshet upsert --importance 0.5\n"},
    Example{"freshet remove",
            "  freshet remove https://example.org/old\n"
            "  freshet remove --crawl-id shop gone.txt\n"},
    Example{"freshet recheck",
            "  freshet recheck https://example.org/news\n"
            "  freshet recheck --crawl-id shop urls.txt\n"},
    Example{"freshet get",
            "  freshet get https://example.org/\n"
            "  freshet get --json urls.txt\n"},
    Example{"freshet explain",
            "  freshet explain https://example.org/\n"
            "  freshet explain --json --crawl-id shop https://example.org/\n"},
    Example{"freshet list",
            "  freshet list example.org\n"
            "  freshet list --crawl-id shop --limit 1000 https://example.org/docs/\n"},
    Example{"freshet export",
            "  freshet export | gzip > pages.jsonl.gz\n"
            "  freshet export --output pages.jsonl.gz --resume\n"
            "  freshet export --format tsv --limit 100000 --page-token TOKEN example.org\n"},
    Example{"freshet import",
            "  freshet import --resume import.state pages.jsonl.gz\n"
            "  freshet import --dry-run --json crawldb/part-r-00000\n"
            "  freshet import --format stormcrawler status.jsonl.gz\n"},
    Example{"freshet next",
            "  freshet next\n"
            "  freshet next 10 --wait 30s --worker fetcher-1 --json\n"
            "  freshet next 100 --crawl-id shop --crawl-id news\n"},
    Example{"freshet report",
            "  freshet report 4711 changed\n"
            "  freshet report https://example.org/ unchanged 2024-05-17T08:30Z\n"
            "  freshet report results.jsonl\n"},
    Example{"freshet signal",
            "  freshet signal https://example.org/news cdn\n"
            "  freshet signal --sitemap sitemap.xml.gz --since 2024-05-17\n"
            "  tail -f changes.tsv | freshet signal --each\n"},
    Example{"freshet sitemap",
            "  freshet sitemap https://example.org/\n"
            "  freshet sitemap --dry-run sitemap.xml.gz https://example.org/feed.atom\n"
            "  freshet sitemap --every 30m --source feed https://example.org/feed.rss\n"},
};

// Of operators.
constexpr std::array kOperatorExamples = {
    Example{"freshet rate",
            "  freshet rate\n"
            "  freshet rate 200\n"},
    Example{"freshet fleet",
            "  freshet fleet\n"
            "  freshet --server crawl-b.example.org:7071 fleet --json\n"},
    Example{"freshet fleet drain", "  freshet fleet drain crawl-a --yes\n"},
    Example{"freshet policy",
            "  freshet policy\n"
            "  freshet policy default\n"},
    Example{"freshet host",
            "  freshet host example.org\n"
            "  freshet host example.org --min-delay 5s --max-crawls 1000/1d --hours 22:00-06:00\n"
            "  freshet host example.org --block-until 2030-01-01\n"},
    Example{"freshet politeness",
            "  freshet politeness\n"
            "  freshet politeness --min-delay 2s --max-in-flight 1\n"},
    Example{"freshet pause", "  freshet pause --reason 'network maintenance'\n"},
    Example{"freshet resume", "  freshet resume\n"},
    Example{"freshet epoch", "  freshet epoch --json\n"},
    Example{"freshet checkpoint", "  freshet checkpoint nightly\n"},
    Example{"freshet compact", "  freshet compact\n"},
    Example{"freshet crawls",
            "  freshet crawls list\n"
            "  freshet crawls set shop --share 0.25\n"},
    Example{"freshet crawls list", "  freshet crawls list --json\n"},
    Example{"freshet crawls show", "  freshet crawls show shop\n"},
    Example{"freshet crawls set",
            "  freshet crawls set shop --share 0.25 --max-pages 1000000\n"
            "  freshet crawls set shop --reset --max-rate 20\n"
            "  freshet crawls set news --frontier-mode shadow\n"},
    Example{"freshet crawls shadow",
            "  freshet crawls shadow news\n"
            "  freshet crawls shadow news --examples 50 --json\n"},
    Example{"freshet crawls delete", "  freshet crawls delete shop --yes\n"},
    Example{"freshet hosts", "  freshet hosts list --prefix www.\n"},
    Example{"freshet hosts list",
            "  freshet hosts list --contains shop\n"
            "  freshet hosts list --prefix www. --json\n"},
    Example{"freshet hosts delete", "  freshet hosts delete example.org --yes\n"},
    Example{"freshet log-level",
            "  freshet log-level\n"
            "  freshet log-level engine debug\n"
            "  freshet log-level info\n"},
    Example{"freshet audit",
            "  freshet audit --limit 20\n"
            "  freshet audit --since 2026-01-01 --json\n"},
};

// Of those who watch a server, and of the client itself.
constexpr std::array kOtherExamples = {
    Example{"freshet stats",
            "  freshet stats\n"
            "  freshet stats --json | jq .schedule.price\n"},
    Example{"freshet health",
            "  freshet health\n"
            "  freshet health freshet.v1.SchedulerService || echo restart it\n"},
    Example{"freshet top",
            "  freshet top\n"
            "  freshet top --once --interval 10\n"},
    Example{"freshet trust",
            "  freshet trust\n"
            "  freshet trust --source sitemap --host example.org --limit 5\n"},
    Example{"freshet sources",
            "  freshet sources\n"
            "  freshet sources --add cdn\n"},
    Example{"freshet auth",
            "  freshet auth check\n"
            "  freshet auth hash-token --generate worker.token\n"},
    Example{"freshet auth hash-token",
            "  freshet auth hash-token --generate worker.token\n"
            "  freshet auth hash-token < worker.token\n"},
    Example{"freshet auth check", "  freshet auth check --token-file worker.token\n"},
    Example{"freshet restore",
            "  freshet restore /var/lib/freshet/checkpoints/nightly /var/lib/freshet-new\n"},
    Example{"freshet completion",
            "  freshet completion bash > ~/.local/share/bash-completion/completions/freshet\n"
            "  eval \"$(freshet completion zsh)\"\n"},
    Example{"freshet version", "  freshet version --json\n"},
};

// The examples of a command; empty if there are none.
std::string_view ExamplesOf(std::string_view command) {
  for (const std::span<const Example> part :
       {std::span<const Example>(kPageExamples), std::span<const Example>(kOperatorExamples),
        std::span<const Example>(kOtherExamples)}) {
    for (const Example& example : part) {
      if (example.command == command) return example.lines;
    }
  }
  return "";
}

void AddBelow(CLI::App& app, const std::string& path, const std::string& footer) {
  const std::string examples(ExamplesOf(path));
  app.footer(examples.empty() ? footer : "Examples:\n" + examples + "\n" + footer);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    AddBelow(*command, path + " " + command->get_name(), footer);
  }
}

}  // namespace

void AddExamples(CLI::App& app, const std::string& footer) { AddBelow(app, "freshet", footer); }

}  // namespace freshet::cli
