// Measures the cost of canonicalising a URL, which is paid for every item from clients.
#include <cstdlib>
#include <string>
#include <utility>

#include "benchmark/benchmark.h"
#include "core/base/limits.h"
#include "core/base/url.h"

namespace freshet {
namespace {

void Canonical(benchmark::State& state, const std::string& url) {
  for (auto _ : state) {
    const auto canonical = Canonicalise(url);
    if (!canonical.ok()) std::abort();
    benchmark::DoNotOptimize(canonical->text.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(url.size()));
}

std::string Longest(const std::string& piece) {
  std::string url = "http://example.com/";
  while (url.size() + piece.size() <= limits::kMaxUrlBytes) url += piece;
  return url;
}

const int kRegistered = [] {
  for (const auto& [name, url] : {
           std::pair<std::string, std::string>(
               "plain", "https://www.example.com/articles/2024/05/some-page-title-12345.html"),
           {"ipv4", "http://192.0.2.1/a?b=c"},
           {"ipv6", "http://[2001:db8::1]:8080/a?b=c"},
           {"international",
            "https://b\xC3\xBC"
            "cher.example/a"},
           {"longest", Longest("a")},
           {"longest_of_dots", Longest("a/../")},
       }) {
    benchmark::RegisterBenchmark(("Canonicalise/" + name).c_str(),
                                 [url = url](benchmark::State& state) { Canonical(state, url); });
  }
  return 0;
}();

}  // namespace
}  // namespace freshet
