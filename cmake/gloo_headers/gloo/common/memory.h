// Debian's libgloo-dev leaves out this header, which others of it include. Found only where theirs
// is missing (-idirafter); as much of it as those declare members with.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr;

template <typename T>
class WeakNonOwningPtr final {
 protected:
  std::weak_ptr<T> ptr_;
};

}  // namespace gloo
