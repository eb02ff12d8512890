// SPDX-License-Identifier: GPL-2.0-or-later
#include "state.h"

#include <netinet/in.h>

#include "suite.h"

// The shortest and the longest packet that an SA may pad to; the box pads to less where less fits.
// No packet is shorter than an IPv4 header, so nothing needs padding to less.
#define SHORTEST_PADDING 20
#define LONGEST_PADDING 9582
// The box has windows of 64 packets and more; charon's default is 32. A larger one accepts nothing
// that the smaller would not, were it to come earlier (RFC 4303, 3.4.3).
#define SMALLEST_WINDOW 64

// What the chips, or the words for them, have nothing for.
static const char *missing(const kernel_ipsec_sa_id_t *id, const kernel_ipsec_add_sa_t *sa) {
  if (id->proto != IPPROTO_ESP) {
    return "only ESP is supported";
  }
  if (sa->mode != MODE_TUNNEL && sa->mode != MODE_TRANSPORT) {
    return "only tunnel and transport mode are supported";
  }
  if (sa->ipcomp != IPCOMP_NONE) {
    return "IPComp is not supported";
  }
  if (id->mark.value || id->mark.mask || sa->mark.value || sa->mark.mask) {
    return "marks are not supported";
  }
  if (sa->interface) {
    return "SAs of one network interface are not supported: leave interface out";
  }
  if (sa->label) {
    return "security labels are not supported";
  }
  return NULL;
}

static void add_limit(line_t *words, const char *name, uint64_t limit) {
  if (limit) {
    line_add(words, " limit %s %llu", name, (unsigned long long)limit);
  }
}

static void add_flags(line_t *words, const kernel_ipsec_add_sa_t *sa) {
  bool inward = sa->copy_dscp == DSCP_COPY_YES || sa->copy_dscp == DSCP_COPY_IN_ONLY;
  bool outward = sa->copy_dscp == DSCP_COPY_YES || sa->copy_dscp == DSCP_COPY_OUT_ONLY;
  line_t flags = LINE_EMPTY;

  line_add(&flags, "%s%s%s%s", sa->esn ? " esn" : "", sa->copy_ecn ? "" : " noecn", sa->copy_df ? "" : " nopmtudisc",
           sa->inbound && inward ? " decap-dscp" : "");
  if (flags.used) {
    line_add(words, " flag%s", flags.text);
  }
  if (!sa->inbound && !outward) {
    line_add(words, " extra-flag dont-encap-dscp");
  }
}

// Anti-replay is the receiver's, but extended sequence numbers need a window in the words of an
// outbound SA too.
static uint32_t window(const kernel_ipsec_add_sa_t *sa) {
  if (!sa->replay_window) {
    return 0;
  }
  if (!sa->inbound) {
    return sa->esn ? SMALLEST_WINDOW : 0;
  }
  return max(sa->replay_window, SMALLEST_WINDOW);
}

static void name_words(line_t *words, host_t *src, host_t *dst, uint32_t spi) {
  line_add(words, "src %H dst %H proto esp spi 0x%08x", src, dst, ntohl(spi));
}

void state_delete_words(line_t *words, host_t *src, host_t *dst, uint32_t spi) {
  line_add(words, "xfrm state deleteall ");
  name_words(words, src, dst, spi);
}

bool state_add_words(line_t *words, const kernel_ipsec_sa_id_t *id, const kernel_ipsec_add_sa_t *sa, line_t *why) {
  const char *lack = missing(id, sa);
  if (lack) {
    line_add(why, "%s", lack);
    return FALSE;
  }
  line_add(words, "xfrm state add ");
  name_words(words, id->src, id->dst, id->spi);
  line_add(words, " reqid %u mode %s dir %s replay-window %u", sa->reqid,
           sa->mode == MODE_TUNNEL ? "tunnel" : "transport", sa->inbound ? "in" : "out", window(sa));
  if (id->if_id) {
    line_add(words, " if_id %u", id->if_id);
  }
  add_flags(words, sa);
  if (sa->tfc >= SHORTEST_PADDING && !sa->inbound && sa->mode == MODE_TUNNEL) {
    line_add(words, " tfcpad %u", min(sa->tfc, LONGEST_PADDING));
  }
  add_limit(words, "byte-soft", sa->lifetime->bytes.rekey);
  add_limit(words, "byte-hard", sa->lifetime->bytes.life);
  add_limit(words, "packet-soft", sa->lifetime->packets.rekey);
  add_limit(words, "packet-hard", sa->lifetime->packets.life);
  add_limit(words, "time-soft", sa->lifetime->time.rekey);
  add_limit(words, "time-hard", sa->lifetime->time.life);
  if (sa->encap) {
    line_add(words, " encap espinudp %u %u %s", id->src->get_port(id->src), id->dst->get_port(id->dst),
             id->src->get_family(id->src) == AF_INET ? "0.0.0.0" : "::");
  }
  if (!suite_add_words(words, sa)) {
    line_add(why, "no suite of %N with a key of %zu bits and %N (docs/reference/suites.md lists them)",
             encryption_algorithm_names, sa->enc_alg, sa->enc_key.len * 8, integrity_algorithm_names, sa->int_alg);
    return FALSE;
  }
  return TRUE;
}
