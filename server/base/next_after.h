// Takes turns over a sorted set whose entries come and go between two turns.
#ifndef FRESHET_SERVER_BASE_NEXT_AFTER_H_
#define FRESHET_SERVER_BASE_NEXT_AFTER_H_

namespace freshet {

// The entry of a std::set whose turn is next: the first one behind `last`, which may have gone, or
// else the first of all. Precondition: the set is not empty.
template <typename Set>
auto NextAfter(const Set& all, const typename Set::value_type& last) {
  const auto next = all.upper_bound(last);
  return next == all.end() ? all.begin() : next;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_NEXT_AFTER_H_
