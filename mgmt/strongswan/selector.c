// SPDX-License-Identifier: GPL-2.0-or-later
#include "selector.h"

#include <netinet/in.h>
#include <stdio.h>

// Ports as traffic selectors have them: all of them is any, and the wrong way round is OPAQUE (RFC
// 7296, 3.13.1).
typedef struct {
  uint16_t first, last;
} ports_t;

static ports_t ports_of(traffic_selector_t *ts) { return (ports_t){ts->get_from_port(ts), ts->get_to_port(ts)}; }

static bool is_any(ports_t ports) { return ports.first == 0 && ports.last == 0xFFFF; }

static bool is_opaque(ports_t ports) { return ports.first == 0xFFFF && ports.last == 0; }

// Numbers as a word: none if it is all of them.
static void print(char *word, size_t size, unsigned first, unsigned last, unsigned most) {
  if (first == last) {
    snprintf(word, size, "%u", first);
  } else if (first || last != most) {
    snprintf(word, size, "%u-%u", first, last);
  }
}

static void print_port(char *word, size_t size, ports_t ports) {
  if (is_opaque(ports)) {
    snprintf(word, size, "opaque");
  } else if (ports.last == 0) {
    snprintf(word, size, "0-0");  // a port 0 alone is any
  } else {
    print(word, size, ports.first, ports.last, 0xFFFF);
  }
}

// Leading bits that all numbers of a range share.
static uint32_t shared_bits(ports_t ports) {
  uint32_t differing = ports.first ^ ports.last;
  return differing ? __builtin_clz(differing) - 16 : 16;
}

// The addresses as a prefix or a range, in numbers: %+H, for %H writes %any for 0.0.0.0. Returns
// the length of the shortest prefix that holds them all.
static uint8_t print_addresses(char *word, size_t size, traffic_selector_t *ts) {
  host_t *net;
  uint8_t mask;

  if (ts->to_subnet(ts, &net, &mask)) {
    snprintf(word, size, "%+H/%u", net, mask);
  } else {
    int family = ts->get_type(ts) == TS_IPV4_ADDR_RANGE ? AF_INET : AF_INET6;
    host_t *first = host_create_from_chunk(family, ts->get_from_address(ts), 0);
    host_t *last = host_create_from_chunk(family, ts->get_to_address(ts), 0);
    snprintf(word, size, "%+H-%+H", first, last);
    first->destroy(first);
    last->destroy(last);
  }
  net->destroy(net);
  return mask;
}

// Type and code of messages stand in the port fields, the type in the upper byte (RFC
// 7296, 3.13.1), of one side or both.
static bool add_messages(selector_t *selector, uint8_t proto, ports_t src, ports_t dst, line_t *why) {
  ports_t messages = is_any(src) ? dst : src;
  if (!is_any(src) && !is_any(dst) && memcmp(&src, &dst, sizeof(src)) != 0) {
    line_add(why, "the two sides of a selector have different message types");
    return FALSE;
  }
  if (is_opaque(messages)) {
    snprintf(selector->type, sizeof(selector->type), "opaque");
    return TRUE;
  }
  print(selector->type, sizeof(selector->type), messages.first >> 8, messages.last >> 8, 0xFF);
  if (proto != IPPROTO_MH) {
    print(selector->code, sizeof(selector->code), messages.first & 0xFF, messages.last & 0xFF, 0xFF);
  }
  selector->narrowness += ((*selector->type != '\0') + (*selector->code != '\0')) * 16 * 4;
  return TRUE;
}

bool selector_of(selector_t *selector, traffic_selector_t *src, traffic_selector_t *dst, line_t *why) {
  ports_t sports = ports_of(src), dports = ports_of(dst);
  // One side may leave the protocol open.
  uint8_t proto = max(src->get_protocol(src), dst->get_protocol(dst));

  memset(selector, 0, sizeof(*selector));
  selector->narrowness = print_addresses(selector->src, sizeof(selector->src), src) * 512;
  selector->narrowness += print_addresses(selector->dst, sizeof(selector->dst), dst) * 512;
  if (proto) {
    snprintf(selector->proto, sizeof(selector->proto), "%u", proto);
    selector->narrowness += 256;
  }
  if (proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6 || proto == IPPROTO_MH) {
    return add_messages(selector, proto, sports, dports, why);
  }
  print_port(selector->sport, sizeof(selector->sport), sports);
  print_port(selector->dport, sizeof(selector->dport), dports);
  selector->narrowness += (shared_bits(sports) + shared_bits(dports)) * 4;
  return TRUE;
}

// Calls for each word that is given.
static void each(line_t *line, const selector_t *selector, void (*add)(line_t *, const char *, const char *)) {
  const struct {
    const char *name, *value;
  } words[] = {
      {"src", selector->src},     {"dst", selector->dst},   {"proto", selector->proto}, {"sport", selector->sport},
      {"dport", selector->dport}, {"type", selector->type}, {"code", selector->code},
  };
  for (size_t i = 0; i < countof(words); i++) {
    if (*words[i].value) {
      add(line, words[i].name, words[i].value);
    }
  }
}

static void add_word(line_t *words, const char *name, const char *value) {
  line_add(words, "%s%s %s", words->used ? " " : "", name, value);
}

static void add_field(line_t *fields, const char *name, const char *value) {
  line_add(fields, "%s\"%s\":\"%s\"", fields->used ? "," : "", name, value);
}

void selector_add_words(line_t *words, const selector_t *selector) { each(words, selector, add_word); }

void selector_add_fields(line_t *fields, const selector_t *selector) { each(fields, selector, add_field); }
