// A hundred thousand URLs and texts that look like one: odd parts, listed by hand, in every
// combination of two, and what chance makes of them. The same on every machine.
#ifndef FRESHET_TESTS_URL_CORPUS_H_
#define FRESHET_TESTS_URL_CORPUS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace freshet {

inline constexpr size_t kCorpusSize = 100'000;

// kCorpusSize texts of valid UTF-8 without line feeds; no two are the same.
std::vector<std::string> UrlCorpus();

}  // namespace freshet

#endif  // FRESHET_TESTS_URL_CORPUS_H_
