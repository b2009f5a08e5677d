// Tests decoding of text in any encoding: the result is UTF-8 without control characters that XML
// forbids, and does not depend on how the input is split. The first line of the input stands for
// the charset that an HTTP header would name.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "tools/cli/lines.h"
#include "tools/sitemap/text_decoder.h"

namespace freshet::sitemap {
namespace {

std::string Decode(std::string_view charset, std::string_view bytes, size_t piece,
                   uint64_t* replaced) {
  TextDecoder decoder(charset);
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += piece) {
    decoder.Decode(bytes.substr(i, piece), false, &text);
  }
  decoder.Decode("", true, &text);
  *replaced = decoder.replaced();
  return text;
}

}  // namespace
}  // namespace freshet::sitemap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view charset = input.substr(0, input.find('\n'));
  const std::string_view bytes = input.substr(std::min(charset.size() + 1, size));
  uint64_t whole_replaced = 0;
  uint64_t replaced = 0;
  const std::string whole =
      freshet::sitemap::Decode(charset, bytes, bytes.size() + 1, &whole_replaced);
  CHECK(
      whole == freshet::sitemap::Decode(charset, bytes, 3, &replaced) && whole_replaced == replaced,
      "{} replaced as a whole, {} in pieces", whole_replaced, replaced);
  CHECK(freshet::cli::IsUtf8(whole), "it is no UTF-8");
  for (const char c : whole) {
    CHECK(static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n' || c == '\r',
          "control {}", static_cast<int>(c));
  }
  return 0;
}
