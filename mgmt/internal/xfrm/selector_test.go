// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

// sel makes a selector of two prefixes, or of none if they are empty.
func sel(src, dst string, change func(s *Selector)) Selector {
	s := Selector{}
	if src != "" {
		s.Src, s.Dst = netip.MustParsePrefix(src), netip.MustParsePrefix(dst)
	}
	if change != nil {
		change(&s)
	}
	return s
}

func icmp(proto uint8, typ, code int) func(s *Selector) {
	number := func(n int) Range {
		if n < 0 {
			return Range{}
		}
		return One(uint16(n))
	}
	return func(s *Selector) { s.Proto, s.Type, s.Code = proto, number(typ), number(code) }
}

// TestSelectors: what the words of a selector mean, in a policy and in the sel of a state, and that
// it prints as ip prints it.
func TestSelectors(t *testing.T) {
	for _, test := range []struct {
		words string
		want  Selector
		text  string
	}{
		{"src 2001:db8::/32", sel("2001:db8::/32", "::/0", nil), "src 2001:db8::/32 dst ::/0"},
		{"dst 2001:db8::/32", sel("::/0", "2001:db8::/32", nil), "src ::/0 dst 2001:db8::/32"},
		{"dst 10.0.0.0/8", sel("0.0.0.0/0", "10.0.0.0/8", nil), "src 0.0.0.0/0 dst 10.0.0.0/8"},
		{"src 2001:DB8::7 dst 2001:db8:0:0:0::8/128", sel("2001:db8::7/128", "2001:db8::8/128", nil), "src 2001:db8::7/128 dst 2001:db8::8/128"},
		{"src ::/0 dst 8000::/1", sel("::/0", "8000::/1", nil), "src ::/0 dst 8000::/1"},
		{"src ::ffff:10.0.0.0/104", sel("::ffff:10.0.0.0/104", "::/0", nil), "src ::ffff:10.0.0.0/104 dst ::/0"},
		{"proto tcp", sel("0.0.0.0/0", "0.0.0.0/0", func(s *Selector) { s.Proto = 6 }), "src 0.0.0.0/0 dst 0.0.0.0/0 proto tcp"},
		{"src ::/0 dport 443 proto udp", sel("::/0", "::/0", func(s *Selector) { s.Proto, s.DPort = 17, One(443) }), "src ::/0 dst ::/0 proto udp dport 443"},
		{"proto icmp", sel("0.0.0.0/0", "0.0.0.0/0", icmp(1, -1, -1)), "src 0.0.0.0/0 dst 0.0.0.0/0 proto icmp"},
		{"proto icmp type 0", sel("0.0.0.0/0", "0.0.0.0/0", icmp(1, 0, -1)), "src 0.0.0.0/0 dst 0.0.0.0/0 proto icmp type 0"},
		{"code 0x10 proto icmp", sel("0.0.0.0/0", "0.0.0.0/0", icmp(1, -1, 16)), "src 0.0.0.0/0 dst 0.0.0.0/0 proto icmp code 16"},
		{"proto ipv6-icmp type 128 code 0 src ::/0", sel("::/0", "::/0", icmp(58, 128, 0)), "src ::/0 dst ::/0 proto ipv6-icmp type 128 code 0"},
		{"dst ::/0 proto 58 type 255", sel("::/0", "::/0", icmp(58, 255, -1)), "src ::/0 dst ::/0 proto ipv6-icmp type 255"},
		{"src ::/0 proto icmp", sel("::/0", "::/0", icmp(1, -1, -1)), "src ::/0 dst ::/0 proto icmp"},
		{"src 10.0.0.0/8 proto ipv6-opts", sel("10.0.0.0/8", "0.0.0.0/0", func(s *Selector) { s.Proto = 60 }), "src 10.0.0.0/8 dst 0.0.0.0/0 proto 60"},
		{"src ::/0 proto ah", sel("::/0", "::/0", func(s *Selector) { s.Proto = 51 }), "src ::/0 dst ::/0 proto ah"},
		{"src 10.0.0.0/8 proto ipv6-icmp", sel("10.0.0.0/8", "0.0.0.0/0", icmp(58, -1, -1)), "src 10.0.0.0/8 dst 0.0.0.0/0 proto ipv6-icmp"},
	} {
		checkSelector(t, test.words, test.want, test.text)
	}
}

// TestFilters: a list without addresses is of both IP versions, but delete and get name one policy,
// of IPv4.
func TestFilters(t *testing.T) {
	for line, want := range map[string]Selector{
		"xfrm policy list proto tcp":                        sel("", "", func(s *Selector) { s.Proto = 6 }),
		"xfrm policy deleteall proto ipv6-icmp type 0":      sel("", "", icmp(58, 0, -1)),
		"xfrm policy list src ::/0":                         sel("::/0", "::/0", nil),
		"xfrm policy list src 0.0.0.0/0":                    sel("0.0.0.0/0", "0.0.0.0/0", nil),
		"xfrm policy list proto tcp dport 80-443":           sel("", "", func(s *Selector) { s.Proto, s.DPort = 6, Range{true, 80, 443} }),
		"xfrm policy delete proto tcp dir out":              sel("0.0.0.0/0", "0.0.0.0/0", func(s *Selector) { s.Proto = 6 }),
		"xfrm policy get dst ::/0 proto 58 type 1 dir out":  sel("::/0", "::/0", icmp(58, 1, -1)),
		"xfrm policy get proto icmp type 3 code 4 dir fwd ": sel("0.0.0.0/0", "0.0.0.0/0", icmp(1, 3, 4)),
	} {
		if got := parseOne(t, line).(PolicySelect).Filter.Selector; !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", line, got, want)
		}
	}
}

// TestOpaque: packets in which there is no port or type to read are a selector of their own (RFC
// 4301, 4.4.1.1), and of "any".
func TestOpaque(t *testing.T) {
	opaque := func(proto uint8) func(s *Selector) {
		return func(s *Selector) { s.Proto, s.Opaque = proto, true }
	}
	const v4, v6 = "0.0.0.0/0", "::/0"
	for _, test := range []struct {
		words string
		want  Selector
		text  string
	}{
		{"proto tcp sport opaque dport opaque", sel(v4, v4, opaque(6)), "src 0.0.0.0/0 dst 0.0.0.0/0 proto tcp sport opaque dport opaque"},
		{"proto udp dport opaque", sel(v4, v4, opaque(17)), "src 0.0.0.0/0 dst 0.0.0.0/0 proto udp sport opaque dport opaque"},
		{"src ::/0 proto sctp sport opaque dport 0", sel(v6, v6, opaque(132)), "src ::/0 dst ::/0 proto sctp sport opaque dport opaque"},
		{"sport opaque", sel(v4, v4, opaque(0)), "src 0.0.0.0/0 dst 0.0.0.0/0 sport opaque dport opaque"},
		{"proto icmp type opaque", sel(v4, v4, opaque(1)), "src 0.0.0.0/0 dst 0.0.0.0/0 proto icmp type opaque code opaque"},
		{"src ::/0 proto ipv6-icmp code opaque", sel(v6, v6, opaque(58)), "src ::/0 dst ::/0 proto ipv6-icmp type opaque code opaque"},
		{"src ::/0 proto mobility-header type opaque", sel(v6, v6, opaque(135)), "src ::/0 dst ::/0 proto 135 type opaque"},
	} {
		checkSelector(t, test.words, test.want, test.text)
	}
	tcp := func(change func(s *Selector)) Selector {
		return sel(v4, v4, func(s *Selector) {
			s.Proto = 6
			if change != nil {
				change(s)
			}
		})
	}
	whole, none, web := tcp(nil), tcp(opaque(6)), tcp(func(s *Selector) { s.DPort = One(80) })
	for _, test := range []struct {
		what                 string
		a, b                 Selector
		aCovers, bCovers, is bool
	}{
		{"any and opaque", whole, none, true, false, true},
		{"a port and opaque", web, none, false, false, false},
		{"opaque and itself", none, none, true, true, true},
		{"opaque of two protocols", none, sel(v4, v4, opaque(17)), false, false, false},
		{"opaque of any protocol", sel(v4, v4, opaque(0)), none, true, false, true},
		{"a type and opaque", sel(v4, v4, icmp(1, 8, -1)), sel(v4, v4, opaque(1)), false, false, false},
	} {
		if test.a.Covers(test.b) != test.aCovers || test.b.Covers(test.a) != test.bCovers || test.a.Overlaps(test.b) != test.is || test.b.Overlaps(test.a) != test.is {
			t.Errorf("%s: covers %t and %t, overlaps %t and %t", test.what, test.a.Covers(test.b), test.b.Covers(test.a), test.a.Overlaps(test.b), test.b.Overlaps(test.a))
		}
	}
}

// TestStateFilters: a filter's addresses may be prefixes, with bits behind them, and are of one
// IP version.
func TestStateFilters(t *testing.T) {
	addr := netip.MustParseAddr
	states := []State{
		{ID: ID{addr("192.0.2.1"), addr("192.0.2.2"), "esp", 1}, Mode: ModeTunnel, ReqID: 1},
		{ID: ID{addr("2001:db8::1"), addr("2001:db8::2"), "esp", 1}, Mode: ModeTunnel, ReqID: 2},
		{ID: ID{addr("2001:db8:1::1"), addr("2001:db8::2"), "esp", 2}, Mode: ModeTunnel, ReqID: 2},
	}
	for line, want := range map[string]string{
		"xfrm state": "012", "xfrm state list proto esp": "012", "xfrm state list spi 1": "01", "xfrm state list reqid 2 mode tunnel": "12",
		"xfrm state list src 0.0.0.0/0": "0", "xfrm state list dst ::/0": "12", "xfrm state list src 192.0.2.9/24": "0", "xfrm state list src 192.0.2.9": "",
		"xfrm state list src 2001:db8::/48": "1", "xfrm state list src 2001:db8::/32 dst 2001:db8::2": "12", "xfrm state deleteall dst 2001:db8::2 spi 2": "2",
		"xfrm state delete dst 2001:db8::2 proto esp spi 1": "1", "xfrm state get src 2001:db8:1::1 dst 2001:db8::2 proto esp spi 2": "2",
	} {
		filter, got := parseOne(t, line).(StateSelect).Filter, ""
		for i := range states {
			if filter.Match(&states[i]) {
				got += string(rune('0' + i))
			}
		}
		if got != want {
			t.Errorf("%s matches %q, want %q", line, got, want)
		}
	}
	if id := parseOne(t, "xfrm state get dst 2001:db8::2 proto esp spi 1").(StateSelect).Filter.ID(); id != (ID{netip.Addr{}, addr("2001:db8::2"), "esp", 1}) {
		t.Errorf("get is for %+v", id)
	}
}

// TestName: a state and a policy keep their names; what batch files give a meaning is in none.
func TestName(t *testing.T) {
	longest := strings.Repeat("n", MaxName)
	for _, name := range []string{"a", "in/trans/2001:db8:123::200/2001:db8:123::100_4097", "!$%&()*+,-./:;<=>?@[]^_`{|}~", longest} {
		commands, err := ParseBatch("f", []byte("xfrm state add "+sa+"name "+name+" "+gcm+"\nxfrm policy add dst 10.0.0.0/8 dir out name "+name+" "+tmpl+"\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s, p := commands[0].(StateAdd).State, commands[1].(PolicyAdd).Policy; s.Name != name || p.Name != name {
			t.Errorf("%q and %q, not %q", s.Name, p.Name, name)
		}
	}
	for _, name := range []string{longest + "n", "'a b'", "'a\"'", `"it's"`, `''`, `a\b`, "\u00e9"} {
		for _, line := range []string{"xfrm state add " + sa + "name " + name + " " + gcm, "xfrm policy add dst 10.0.0.0/8 dir out name " + name} {
			if _, err := ParseBatch("f", []byte(line)); err == nil || !strings.Contains(err.Error(), "a name has 1 to 128 visible ASCII characters") {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if _, err := ParseBatch("f", []byte("xfrm policy add dst 10.0.0.0/8 dir out name")); err == nil {
		t.Error("a name that is missing")
	}
}
