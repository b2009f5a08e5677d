#include "server/indexnow/key_request.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "boost/asio/connect.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/ssl/context.hpp"
#include "boost/asio/ssl/error.hpp"
#include "boost/asio/ssl/host_name_verification.hpp"
#include "boost/asio/ssl/stream.hpp"
#include "boost/asio/write.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/http/parser.hpp"
#include "boost/beast/http/read.hpp"
#include "boost/beast/http/string_body.hpp"
#include "fmt/format.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr Duration kLookAtCancelled = Duration::Millis(50);

// One exchange with a host, on a separate event loop that ends after `timeout`. Owner thread only.
class Exchange {
 public:
  Exchange(const SmallFileRequest& request, Duration timeout, const std::atomic<bool>& cancelled)
      : request_(request),
        cancelled_(cancelled),
        end_(std::chrono::steady_clock::now() + timeout.chrono()) {
    parser_.header_limit(kMaxKeyHeaderBytes);
    parser_.body_limit(limits::kMaxKeyFileBytes);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  SmallFile Run() {
    error_code error = Connect();
    if (!error) error = request_.https ? TalkSecurely() : Talk(socket_);
    SmallFile file;
    // The parser can find that the body is too large before it has read the whole header.
    file.status = static_cast<int>(parser_.get().result_int());
    file.too_large = error == http::error::body_limit;
    if (error && !file.too_large) {
      file.failure = over_ ? "it took too long" : error.message();
    } else if (!file.too_large && file.status == 200) {
      file.body = std::move(parser_.get().body());
    }
    return file;
  }

 private:
  // Starts an operation by `start`, which gets a callback for the result, and waits for the result.
  template <typename Start>
  error_code Await(Start start) {
    std::optional<error_code> result;
    start([&result](const error_code& error, auto&&...) { result = error; });
    context_.restart();
    while (!result) {
      if (cancelled_ || std::chrono::steady_clock::now() >= end_) {
        over_ = true;
        // This ends operations under way with an error.
        error_code ignored;
        socket_.close(ignored);
      }
      context_.run_for(kLookAtCancelled.chrono());
    }
    return *result;
  }

  error_code Connect() {
    std::vector<tcp::endpoint> endpoints;
    for (const std::string& text : request_.addresses) {
      error_code error;
      const asio::ip::address address = asio::ip::make_address(text, error);
      if (!error) endpoints.emplace_back(address, request_.port);
    }
    return Await([&](auto done) { asio::async_connect(socket_, endpoints, std::move(done)); });
  }

  error_code TalkSecurely() {
    asio::ssl::context tls(asio::ssl::context::tls_client);
    error_code error;
    tls.set_default_verify_paths(error);
    if (error) return error;
    asio::ssl::stream<tcp::socket&> stream(socket_, tls);
    stream.set_verify_mode(asio::ssl::verify_peer);
    stream.set_verify_callback(asio::ssl::host_name_verification(request_.host));
    std::string name = request_.host;
    // Does the same as the macro SSL_set_tlsext_host_name.
    if (SSL_ctrl(stream.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 name.data()) != 1) {
      return asio::error::invalid_argument;
    }
    error = Await([&](auto done) {
      stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
    });
    return error ? error : Talk(stream);
  }

  template <typename Stream>
  error_code Talk(Stream& stream) {
    const std::string head = fmt::format(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: freshet-indexnow\r\nAccept: */*\r\n"
        "Accept-Encoding: identity\r\nConnection: close\r\n\r\n",
        request_.path, request_.host);
    error_code error =
        Await([&](auto done) { asio::async_write(stream, asio::buffer(head), std::move(done)); });
    if (error) return error;
    error = Await(
        [&](auto done) { http::async_read_header(stream, buffer_, parser_, std::move(done)); });
    // For any other status, the body does not matter.
    if (error || parser_.get().result() != http::status::ok) return error;
    error = Await([&](auto done) { http::async_read(stream, buffer_, parser_, std::move(done)); });
    // Many hosts end connections without the TLS closure. This is safe, because a truncated body is
    // not equal to the key.
    if (error == asio::ssl::error::stream_truncated) parser_.put_eof(error = {});
    return error;
  }

  const SmallFileRequest& request_;
  const std::atomic<bool>& cancelled_;
  const std::chrono::steady_clock::time_point end_;
  bool over_ = false;
  asio::io_context context_{1};
  tcp::socket socket_{context_};
  // The size of the buffer limits all lines.
  boost::beast::flat_buffer buffer_{kMaxKeyHeaderBytes};
  http::response_parser<http::string_body> parser_;
};

}  // namespace

SmallFile FetchSmallFile(const SmallFileRequest& request, Duration timeout,
                         const std::atomic<bool>& cancelled) {
  return Exchange(request, timeout, cancelled).Run();
}

}  // namespace freshet
