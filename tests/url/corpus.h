// A hundred thousand URLs and similar texts: odd parts, listed by hand, in all pairs, and random
// combinations and mutations. The corpus is the same on every machine.
#ifndef FRESHET_TESTS_URL_CORPUS_H_
#define FRESHET_TESTS_URL_CORPUS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace freshet {

inline constexpr size_t kCorpusSize = 100'000;

// Returns kCorpusSize different texts of valid UTF-8 without line feeds.
std::vector<std::string> UrlCorpus();

}  // namespace freshet

#endif  // FRESHET_TESTS_URL_CORPUS_H_
