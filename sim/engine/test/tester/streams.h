// SPDX-License-Identifier: Apache-2.0
// Specifications of streams from the first box's red port to the second's, for tests.
#pragma once

#include <arpa/inet.h>

#include "tester/stream_spec.h"
#include "tester/test_packet.h"

namespace sallyport::sim {

inline StreamSpec base() {
  StreamSpec spec;
  spec.id = 3;
  spec.from = {0, "red"};
  spec.to = {1, "red"};
  return spec;
}

// The smallest frames, of flows whose source address turns over.
inline StreamSpec overV6() {
  StreamSpec spec = base();
  spec.flow.srcIp.v6 = spec.flow.dstIp.v6 = true;
  inet_pton(AF_INET6, "2001:2::ffff:fffe", spec.flow.srcIp.bytes.data());
  inet_pton(AF_INET6, "2001:2:0:1::1", spec.flow.dstIp.bytes.data());
  spec.flow.count = 4;
  spec.flow.srcIpStep = spec.flow.dstIpStep = 1;
  spec.sizes = {kMinStreamFrameV6};
  return spec;
}

}  // namespace sallyport::sim
