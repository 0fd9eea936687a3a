// Gloo's connections, of which one that breaks Gloo's protocol is lost like that of a dead worker.
#pragma once

#include <gloo/transport/device.h>

#include <memory>

namespace medgrad::libtorch {

// Gloo checks what arrives in its own thread, where nobody can catch what it throws: a message that
// is longer than was expected would end the process. Connections of this device catch it.
// Another device than one for plain TCP is returned as it is.
[[nodiscard]] std::shared_ptr<gloo::transport::Device> guarded(
    std::shared_ptr<gloo::transport::Device> device);

}  // namespace medgrad::libtorch
