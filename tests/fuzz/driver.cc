// Runs a fuzz harness without libFuzzer, so that every build and compiler tests it: first on the
// committed seeds, then on mutations of them from a fixed random seed. It does not see which code
// an input reaches; ./dev fuzz finds new inputs, and this driver keeps them working.
//
//   x_fuzz --seeds DIRECTORY --seconds 1 [--runs N] [--seed S] [--max-len BYTES]
//   x_fuzz FILE...        runs only these inputs
//   x_fuzz --hex HEX      runs only this input
//
// For an input that ends the process, the driver prints the whole input in hexadecimal, the seed
// and the number of the run. An input that takes over a minute counts, too.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);
// Sanitizers end the process without a signal, but call this function before.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

constexpr unsigned kSecondsPerInput = 60;

struct Options {
  std::string seeds;
  double seconds = 1;
  uint64_t runs = UINT64_MAX;
  uint64_t seed = 1;
  size_t max_len = 4096;
  std::vector<std::string> inputs;
};

// The input that is running, for the signal handlers.
struct {
  const char* program = "";
  const char* data = nullptr;
  size_t size = 0;
  uint64_t seed = 0;
  uint64_t run = 0;
  volatile sig_atomic_t told = 0;
} current;

void Say(const char* text, size_t size) {
  while (size > 0) {
    const ssize_t n = write(STDERR_FILENO, text, size);
    if (n <= 0) return;
    text += n;
    size -= static_cast<size_t>(n);
  }
}

// Async-signal-safe.
void TellInput() {
  if (current.told || current.data == nullptr) return;
  current.told = 1;
  char line[300];
  const int n =
      std::snprintf(line, sizeof line,
                    "\nfuzz: FAILED in run %llu of seed %llu, on an input of %zu bytes; "
                    "again: %s --hex ",
                    static_cast<unsigned long long>(current.run),
                    static_cast<unsigned long long>(current.seed), current.size, current.program);
  Say(line, std::min(static_cast<size_t>(n), sizeof line - 1));
  for (size_t i = 0; i < current.size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(current.data[i]);
    const char two[2] = {kDigits[byte >> 4], kDigits[byte & 15]};
    Say(two, 2);
  }
  Say(current.size == 0 ? "''\n" : "\n", current.size == 0 ? 3 : 1);
}

void OnSignal(int signal) {
  if (signal == SIGALRM) {
    constexpr char kSlow[] = "\nfuzz: one input takes longer than a minute";
    Say(kSlow, sizeof kSlow - 1);
  }
  TellInput();
  std::signal(signal == SIGALRM ? SIGABRT : signal, SIG_DFL);
  std::raise(signal == SIGALRM ? SIGABRT : signal);
}

void Run(const std::string& input) {
  // Copies the input to a buffer of its exact size, so that sanitizers notice reads beyond the end.
  const auto bytes = std::make_unique<uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), bytes.get());
  current.data = input.data();
  current.size = input.size();
  ++current.run;
  alarm(kSecondsPerInput);
  LLVMFuzzerTestOneInput(bytes.get(), input.size());
  alarm(0);
  current.data = nullptr;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "fuzz: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> ReadSeeds(const std::string& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
    if (file.is_regular_file()) files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) seeds.push_back(ReadFile(file));
  return seeds;
}

// Makes small changes to inputs. Thread-compatible.
class Mutator {
 public:
  Mutator(uint64_t seed, size_t max_len, std::vector<std::string> seeds)
      : random_(seed), max_len_(max_len), seeds_(std::move(seeds)) {
    if (seeds_.empty()) seeds_.emplace_back();
    recent_ = seeds_;
  }

  std::string Next() {
    std::string input = Below(2) == 0 ? Any(seeds_) : Any(recent_);
    for (uint64_t changes = 1 + Below(6); changes > 0; --changes) Change(&input);
    input.resize(std::min(input.size(), max_len_));
    // Some inputs are mutated again, so that the inputs move away from the seeds.
    if (recent_.size() < seeds_.size() + 200) {
      recent_.push_back(input);
    } else {
      recent_[Below(recent_.size())] = input;
    }
    return input;
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  const std::string& Any(const std::vector<std::string>& of) { return of[Below(of.size())]; }
  char Byte() {
    using std::string_view_literals::operator""sv;
    constexpr std::string_view kTelling = "\0\x01\x7f\x80\xff %&/:?#[]@.\r\n\t\"'\\{}-0aA"sv;
    return Below(2) == 0 ? kTelling[Below(kTelling.size())] : static_cast<char>(random_());
  }

  void Change(std::string* input) {
    const size_t at = Below(input->size() + 1);
    const size_t length = std::min<size_t>(input->size() - at, 1 + Below(Below(4) == 0 ? 64 : 8));
    switch (Below(input->empty() ? 2 : 8)) {
      case 0:
        return void(input->insert(at, 1 + Below(4), Byte()));
      case 1: {
        const std::string& other = Any(seeds_);
        const size_t from = Below(other.size() + 1);
        return void(input->insert(at, other.substr(from, 1 + Below(32))));
      }
      case 2:
        return void(input->erase(at, length));
      case 3:
        return void(input->insert(at, input->substr(at, length)));
      case 4:
        if (at < input->size()) (*input)[at] = Byte();
        return;
      case 5:
        if (at < input->size()) (*input)[at] = static_cast<char>((*input)[at] ^ 1 << Below(8));
        return;
      case 6: {
        const std::string& other = Any(recent_);
        return void(input->replace(at, std::string::npos,
                                   other.substr(std::min(other.size(), Below(2) == 0 ? at : 0))));
      }
      default:
        // Repeats a part of the input many times, to reach limits on counts and lengths.
        if (length == 0) return;
        for (uint64_t times = 1 + Below(64); times > 0 && input->size() < max_len_; --times) {
          input->insert(at, input->substr(at, length));
        }
    }
  }

  std::mt19937_64 random_;
  const size_t max_len_;
  std::vector<std::string> seeds_;
  std::vector<std::string> recent_;
};

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (!name.starts_with("--")) {
      options.inputs.push_back(ReadFile(name));
      continue;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "fuzz: %s needs a value\n", name.c_str());
      std::exit(2);
    }
    const char* value = argv[++i];
    if (name == "--seeds") {
      options.seeds = value;
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value, nullptr);
    } else if (name == "--runs") {
      options.runs = std::strtoull(value, nullptr, 10);
    } else if (name == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--max-len") {
      options.max_len = std::strtoull(value, nullptr, 10);
    } else if (name == "--hex") {
      options.inputs.push_back(FromHex(value));
    } else {
      std::fprintf(stderr, "fuzz: unknown option %s\n", name.c_str());
      std::exit(2);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  const Options options = ParseOptions(argc, argv);
  current.program = argv[0];
  current.seed = options.seed;
  std::signal(SIGABRT, OnSignal);
  std::signal(SIGALRM, OnSignal);
  if (__sanitizer_set_death_callback) {
    __sanitizer_set_death_callback(TellInput);
  } else {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, OnSignal);
  }
  if (!options.inputs.empty()) {
    for (const std::string& input : options.inputs) Run(input);
    std::printf("fuzz: %zu inputs\n", options.inputs.size());
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<std::string> seeds;
  if (!options.seeds.empty()) seeds = ReadSeeds(options.seeds);
  // Runs all seeds, however long that takes.
  for (const std::string& seed : seeds) Run(seed);
  const size_t committed = seeds.size();
  Mutator mutator(options.seed, options.max_len, std::move(seeds));
  while (current.run < options.runs && seconds() < options.seconds) Run(mutator.Next());
  std::printf("fuzz: %zu committed inputs and %llu of seed %llu in %.1f s\n", committed,
              static_cast<unsigned long long>(current.run - committed),
              static_cast<unsigned long long>(options.seed), seconds());
  return 0;
}
