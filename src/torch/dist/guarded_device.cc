// Only Gloo's headers: the build tries whether they are as this file needs them.
#include "torch/dist/guarded_device.h"

#ifdef MEDGRAD_GUARDS_GLOO
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <unistd.h>

#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <typeinfo>
#include <utility>

namespace medgrad::libtorch {
namespace {

namespace tcp = gloo::transport::tcp;

// A connection to one other worker.
class GuardedPair final : public tcp::Pair {
 public:
  using Pair::Pair;
  // Closed while Gloo's thread still finds this class here: it never calls a closed connection.
  ~GuardedPair() override {
    const std::lock_guard lock(m_);
    if (state_ != CLOSED) changeState(CLOSED);
  }

  // Connecting can throw too: who knocks and is gone at once has no address any more.
  void handleEvents(int events) override {
    try {
      Pair::handleEvents(events);
    } catch (const std::exception& error) {
      // One who holds the lock may wait for this thread (to close the connection): no waiting.
      std::unique_lock lock(m_, std::defer_lock);
      for (int k = 0; k < 1000 && !lock.try_lock(); ++k) std::this_thread::yield();
      if (lock) fail(error);
    }
  }

 protected:
  void handleReadWrite(int events) override {
    try {
      Pair::handleReadWrite(events);
    } catch (const std::exception& error) {
      fail(error);
    }
  }

 private:
  // Whoever waits for this connection is told. The lock is held.
  void fail(const std::exception& error) {
    if (ex_ != nullptr || state_ == CLOSED) return;
    // Gloo's loop does not know this socket yet, and would throw when it is taken from there.
    if (state_ == LISTENING) ::close(std::exchange(fd_, -1));
    // Also who waits for the message that was just read.
    if (rx_.nread >= sizeof rx_.preamble)
      localPendingRecv_[rx_.preamble.slot].emplace_front(rx_.ubuf, rx_.offset, rx_.nbytes);
    signalException(std::string("A worker breaks Gloo's protocol: ") + error.what());
  }
};

class GuardedContext final : public tcp::Context {
 public:
  using Context::Context;
  std::unique_ptr<gloo::transport::Pair>& createPair(int other) override {
    auto& pair = pairs_[static_cast<std::size_t>(other)];
    pair = std::make_unique<GuardedPair>(this, device_.get(), other, getTimeout());
    return pair;
  }
};

class GuardedDevice final : public gloo::transport::Device {
 public:
  explicit GuardedDevice(std::shared_ptr<tcp::Device> device) : device_(std::move(device)) {}
  std::string str() const override { return device_->str(); }
  const std::string& getPCIBusID() const override { return device_->getPCIBusID(); }
  int getInterfaceSpeed() const override { return device_->getInterfaceSpeed(); }
  bool hasGPUDirect() const override { return device_->hasGPUDirect(); }
  std::shared_ptr<gloo::transport::Context> createContext(int rank, int size) override {
    return std::make_shared<GuardedContext>(device_, rank, size);
  }

 private:
  std::shared_ptr<tcp::Device> device_;
};

}  // namespace

std::shared_ptr<gloo::transport::Device> guarded(std::shared_ptr<gloo::transport::Device> device) {
  const gloo::transport::Device& as_it_is = *device;
  if (typeid(as_it_is) != typeid(tcp::Device)) return device;  // TLS, which derives from it
  return std::make_shared<GuardedDevice>(std::static_pointer_cast<tcp::Device>(device));
}

}  // namespace medgrad::libtorch
#endif
