// SPDX-License-Identifier: Apache-2.0
// Holds the sockets by which Linux takes ESP in UDP (RFC 3948): on port 4500, of IPv4 and of IPv6.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kPort = 4500, kUdpEncap = 100, kEspInUdp = 2 };

static int hold(int family, const struct sockaddr* address, socklen_t length) {
  const int one = 1;
  const int kind = kEspInUdp;
  const int udp = socket(family, SOCK_DGRAM, 0);
  if (family == AF_INET6) setsockopt(udp, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  return bind(udp, address, length) || setsockopt(udp, IPPROTO_UDP, kUdpEncap, &kind, sizeof kind);
}

int main(void) {
  const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(kPort)};
  if (hold(AF_INET, (const struct sockaddr*)&v4, sizeof v4) || hold(AF_INET6, (const struct sockaddr*)&v6, sizeof v6)) {
    perror("udp_encap");
    return 1;
  }
  for (;;) pause();
}
