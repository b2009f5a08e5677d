// A setting or a counter that may change while others read it.
#ifndef FRESHET_SERVER_BASE_LIVE_H_
#define FRESHET_SERVER_BASE_LIVE_H_

#include <atomic>
#include <type_traits>

namespace freshet {

// A relaxed atomic that converts to its value. A reader sees the value either before or after a
// change. Accesses do not order other memory. A copy holds the value at the time of copying.
// Thread-safe.
template <typename T>
class Live {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  Live() = default;
  Live(T value) : value_(value) {}  // NOLINT(google-explicit-constructor): it is its value
  Live(const Live& other) : value_(other.get()) {}
  Live& operator=(const Live& other) {
    if (this != &other) value_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }
  ~Live() = default;

  [[nodiscard]] T get() const { return value_.load(std::memory_order_relaxed); }
  operator T() const { return get(); }  // NOLINT(google-explicit-constructor): likewise
  // These return the new value.
  T operator++() { return *this += 1; }
  T operator+=(T more) { return value_.fetch_add(more, std::memory_order_relaxed) + more; }
  friend bool operator==(const Live& a, const Live& b) { return a.get() == b.get(); }
  friend bool operator==(const Live& a, const T& b) { return a.get() == b; }

 private:
  std::atomic<T> value_{};
};

template <typename T>
inline constexpr bool kIsLive = false;
template <typename T>
inline constexpr bool kIsLive<Live<T>> = true;

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_LIVE_H_
