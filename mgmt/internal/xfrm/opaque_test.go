package xfrm

import "testing"

// TestOpaque: packets in which there is no port or type to read are a selector of their own (RFC 4301, 4.4.1.1), and of "any".
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
