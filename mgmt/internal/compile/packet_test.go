// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// bits is row[high:low] as the hardware has it, in hexadecimal.
func bits(row []uint32, high, low int) string {
	octets := testbox.RowBytes(row)
	slices.Reverse(octets)
	number := new(big.Int).Rsh(new(big.Int).SetBytes(octets), uint(low))
	return number.And(number, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(high-low+1)), big.NewInt(1))).Text(16)
}

// place is where regs/rows.rdl has a field, and the value wanted there.
type place struct {
	name      string
	high, low int
	want      string
}

func (r *rig) checkRow(what string, row []uint32, places []place) {
	r.T.Helper()
	if row == nil {
		r.T.Errorf("%s: there is no row", what)
		return
	}
	named := make([]bool, 32*len(row))
	for _, p := range places {
		if got := bits(row, p.high, p.low); got != p.want {
			r.T.Errorf("%s: %s is %s, want %s", what, p.name, got, p.want)
		}
		for bit := p.low; bit <= p.high; bit++ {
			named[bit] = true
		}
	}
	for bit := range named {
		if !named[bit] && row[bit/32]>>(bit%32)&1 != 0 {
			r.T.Errorf("%s: bit %d is of no field, and set", what, bit)
		}
	}
}

// keyed are the fields that every look-up by packet begins with.
func keyed(src, dst, sport, dport, proto, version, upper string) []place {
	return []place{
		{"src_addr", 127, 0, src}, {"dst_addr", 255, 128, dst}, {"src_port", 271, 256, sport}, {"dst_port", 287, 272, dport},
		{"protocol", 295, 288, proto}, {"version", 299, 296, version}, {"upper", 303, 300, upper},
	}
}

func decided(sa, priority, valid, action, usage string) []place {
	return []place{{"sa", 431, 416, sa}, {"priority", 351, 320, priority}, {"valid", 352, 352, valid}, {"action", 354, 353, action}, {"usage", 403, 384, usage}}
}

func masks(src, dst, sport, dport, proto, version, upper string) []place {
	return []place{
		{"src_mask", 559, 432, src}, {"dst_mask", 687, 560, dst}, {"src_port_mask", 703, 688, sport}, {"dst_port_mask", 719, 704, dport},
		{"protocol_mask", 727, 720, proto}, {"version_mask", 731, 728, version}, {"upper_mask", 735, 732, upper}, {"network_mask", 741, 736, "3f"},
	}
}

const ones = "ffffffffffffffffffffffffffffffff"

// TestFlowRows: exact selectors, field by field, each found as the hardware finds it.
func TestFlowRows(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(`
xfrm policy add src 2001:db8::1 dst fd00:1:2:3:4:5:6:7 proto tcp sport 443 dport 50000 dir out priority 0xfedcba98 action punt
xfrm policy add src 10.1.0.1 dst 10.2.0.2 proto udp sport 53 dport 1024 dir out priority 7 action block
xfrm policy add src 2001:db8::1 dst 2001:db8::2 proto ipv6-icmp type 128 code 0 dir out action punt
xfrm policy add src 10.1.0.1 dst 10.2.0.2 proto icmp type 0 code 0 dir out action punt
xfrm policy add src 10.1.0.1 dst 10.2.0.2 proto gre dir out action punt
xfrm policy add src 2001:db8::1 dst 2001:db8::2 proto icmp dir out action punt
xfrm policy add src ::ffff:10.1.0.1 dst ::ffff:10.2.0.2 proto udp sport 53 dport 1024 dir out action punt
xfrm policy add src 2001:db8::1 dst 2001:db8::2 proto mobility-header type 5 dir out action punt`)
	if n := len(r.Fake.Table(transport.Inner, regs.InnerTableFlow)); n != 8 {
		t.Errorf("%d flows", n)
	}
	punt := func(usage string) []place { return decided("0", "0", "1", "3", usage) }
	for _, test := range []struct {
		what string
		row  []uint32
		want []place
	}{
		{"IPv6 TCP", r.FlowRow("2001:db8::1", "fd00:1:2:3:4:5:6:7", 6, 443, 50000), slices.Concat(
			keyed("20010db8000000000000000000000001", "fd000001000200030004000500060007", "1bb", "c350", "6", "6", "1"), decided("0", "fedcba98", "1", "3", "1"))},
		{"IPv4 UDP", r.FlowRow("10.1.0.1", "10.2.0.2", 17, 53, 1024), slices.Concat(keyed("a010001", "a020002", "35", "400", "11", "4", "1"), decided("0", "7", "1", "0", "2"))},
		{"ICMPv6 echo", r.FlowRow("2001:db8::1", "2001:db8::2", 58, 128, 0), slices.Concat(
			keyed("20010db8000000000000000000000001", "20010db8000000000000000000000002", "80", "0", "3a", "6", "2"), punt("3"))},
		{"ICMP echo reply", r.FlowRow("10.1.0.1", "10.2.0.2", 1, 0, 0), slices.Concat(keyed("a010001", "a020002", "0", "0", "1", "4", "2"), punt("4"))},
		{"GRE", r.FlowRow("10.1.0.1", "10.2.0.2", 47, 0, 0), slices.Concat(keyed("a010001", "a020002", "0", "0", "2f", "4", "0"), punt("5"))},
		{"ICMP in IPv6", r.FlowRow("2001:db8::1", "2001:db8::2", 1, 0, 0), slices.Concat(
			keyed("20010db8000000000000000000000001", "20010db8000000000000000000000002", "0", "0", "1", "6", "0"), punt("6"))},
		{"mapped addresses", r.FlowRow("::ffff:10.1.0.1", "::ffff:10.2.0.2", 17, 53, 1024), slices.Concat(keyed("ffff0a010001", "ffff0a020002", "35", "400", "11", "6", "1"), punt("7"))},
		{"a binding update", r.FlowRow("2001:db8::1", "2001:db8::2", 135, 5, 0), slices.Concat(
			keyed("20010db8000000000000000000000001", "20010db8000000000000000000000002", "5", "0", "87", "6", "2"), punt("8"))},
	} {
		r.checkRow(test.what, test.row, test.want)
	}
}

// TestRuleRows: values and masks of selectors that are not exact 5-tuples.
func TestRuleRows(t *testing.T) {
	const prefix33 = "ffffffff800000000000000000000000"
	ipv4 := func(low string) string { return ones[:24] + low }
	for _, test := range []struct {
		words       string
		keyed, mask []place
	}{
		{"src 2001:db8:8000::/33 dst ::/0 proto tcp dport 443",
			keyed("20010db8800000000000000000000000", "0", "0", "1bb", "6", "6", "1"), masks(prefix33, "0", "0", "ffff", "ff", "f", "f")},
		{"src 10.1.0.0/16 dst 10.2.0.7 proto udp sport 5",
			keyed("a010000", "a020007", "5", "0", "11", "4", "1"), masks(ipv4("ffff0000"), ones, "ffff", "0", "ff", "f", "f")},
		{"dport 80", keyed("0", "0", "0", "50", "0", "4", "1"), masks(ipv4("00000000"), ipv4("00000000"), "0", "ffff", "0", "f", "f")},
		{"src ::/0", keyed("0", "0", "0", "0", "0", "6", "0"), masks("0", "0", "0", "0", "0", "f", "0")},
		// Any port of TCP is also that of a fragment, in which there is none to read.
		{"src 2001:db8::1 dst 2001:db8::2 proto tcp",
			keyed("20010db8000000000000000000000001", "20010db8000000000000000000000002", "0", "0", "6", "6", "0"), masks(ones, ones, "0", "0", "ff", "f", "0")},
		{"src 10.1.0.1 dst 10.2.0.2 proto sctp sport 5", keyed("a010001", "a020002", "5", "0", "84", "4", "1"), masks(ones, ones, "ffff", "0", "ff", "f", "f")},
		// Type 0 is a type, and any type is no type in particular.
		{"src 10.1.0.1 dst 10.2.0.2 proto icmp", keyed("a010001", "a020002", "0", "0", "1", "4", "0"), masks(ones, ones, "0", "0", "ff", "f", "0")},
		{"src 10.1.0.1 dst 10.2.0.2 proto icmp type 0", keyed("a010001", "a020002", "0", "0", "1", "4", "2"), masks(ones, ones, "ffff", "0", "ff", "f", "f")},
		{"src ::/0 proto ipv6-icmp type 128", keyed("0", "0", "80", "0", "3a", "6", "2"), masks("0", "0", "ffff", "0", "ff", "f", "f")},
		{"src ::/0 proto ipv6-icmp code 0", keyed("0", "0", "0", "0", "3a", "6", "2"), masks("0", "0", "0", "ffff", "ff", "f", "f")},
		{"src ::/0 proto ipv6-icmp type 3 code 255", keyed("0", "0", "3", "ff", "3a", "6", "2"), masks("0", "0", "ffff", "ffff", "ff", "f", "f")},
		{"src ::/0 proto 135 type 1", keyed("0", "0", "1", "0", "87", "6", "2"), masks("0", "0", "ffff", "0", "ff", "f", "f")},
		{"src 2001:db8::1 dst 2001:db8::2 proto 135",
			keyed("20010db8000000000000000000000001", "20010db8000000000000000000000002", "0", "0", "87", "6", "0"), masks(ones, ones, "0", "0", "ff", "f", "0")},
		{"src 2001:db8::1 dst 2001:db8::2 proto 135 type 2-3",
			keyed("20010db8000000000000000000000001", "20010db8000000000000000000000002", "2", "0", "87", "6", "2"), masks(ones, ones, "fffe", "0", "ff", "f", "f")},
		{"src ::/0 proto icmp", keyed("0", "0", "0", "0", "1", "6", "0"), masks("0", "0", "0", "0", "ff", "f", "0")},
		// A destination of groups alone, and those that hold groups among others.
		{"dst 224.0.0.0/4", keyed("0", "e0000000", "0", "0", "0", "5", "0"), masks(ipv4("00000000"), ipv4("f0000000"), "0", "0", "0", "f", "0")},
		{"dst 192.0.0.0/2", keyed("0", "c0000000", "0", "0", "0", "4", "0"), masks(ipv4("00000000"), ipv4("c0000000"), "0", "0", "0", "f", "0")},
		{"dst 255.255.255.255", keyed("0", "ffffffff", "0", "0", "0", "5", "0"), masks(ipv4("00000000"), ones, "0", "0", "0", "f", "0")},
		{"dst 223.255.255.255-224.0.0.0", keyed("0", "dfffffff", "0", "0", "0", "4", "0"), masks(ipv4("00000000"), ones, "0", "0", "0", "f", "0")},
		{"dst fe00::/7", keyed("0", "fe000000000000000000000000000000", "0", "0", "0", "6", "0"), masks("0", "fe000000000000000000000000000000", "0", "0", "0", "f", "0")},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet("xfrm policy add " + test.words + " dir out priority 9 action punt\nxfrm policy add " + test.words + " dir in priority 9 action punt")
		want := func(usage string) []place {
			return slices.Concat(test.keyed, decided("0", "9", "1", "3", usage), test.mask)
		}
		r.checkRow("inner, "+test.words, r.Fake.Table(transport.Inner, regs.InnerTableRule)[0], want("1"))
		r.checkRow("outer, "+test.words, r.Fake.Table(transport.Outer, regs.OuterTableRule)[0], want("0"))
		if n := len(r.Fake.Table(transport.Inner, regs.InnerTableFlow)); n != 0 {
			t.Errorf("%s: %d flows", test.words, n)
		}
	}
}

// TestGroupsOfABump: IPv6 multicast, which a router's policies never see, has its policy in a bump
// in the wire.
func TestGroupsOfABump(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Bridged + "xfrm policy add src ::/0 dst ff0e::/16 dir out priority 9 action punt")
	const dst, mask = "ff0e0000000000000000000000000000", "ffff0000000000000000000000000000"
	want := slices.Concat(keyed("0", dst, "0", "0", "0", "7", "0"), decided("0", "9", "1", "3", "1"), masks("0", mask, "0", "0", "0", "f", "0"))
	r.checkRow("rule", r.Fake.Table(transport.Inner, regs.InnerTableRule)[0], want)
}

// TestSelectorRows: prefixes of every kind out of 128 bits, and the fields behind the addresses.
func TestSelectorRows(t *testing.T) {
	for _, test := range []struct {
		words    string
		keyed    []place
		src, dst int
		rest     [5]string // last ports, and masks of protocol, version and upper
	}{
		{"src 0.0.0.0/0 dst 128.0.0.0/1", keyed("0", "80000000", "0", "0", "0", "4", "0"), 96, 97, [5]string{"ffff", "ffff", "0", "f", "0"}},
		{"src 10.1.0.9/32 dst 10.2.0.0/31", keyed("a010009", "a020000", "0", "0", "0", "4", "0"), 128, 127, [5]string{"ffff", "ffff", "0", "f", "0"}},
		{"src ::/0 dst 8000::/1", keyed("0", "80000000000000000000000000000000", "0", "0", "0", "6", "0"), 0, 1, [5]string{"ffff", "ffff", "0", "f", "0"}},
		{"src 2001:db8::6/127 dst 2001:db8::7/128 proto tcp dport 22",
			keyed("20010db8000000000000000000000006", "20010db8000000000000000000000007", "0", "16", "6", "6", "1"), 127, 128, [5]string{"ffff", "16", "ff", "f", "f"}},
		{"src ::/0 proto ipv6-icmp", keyed("0", "0", "0", "0", "3a", "6", "0"), 0, 0, [5]string{"ffff", "ffff", "ff", "f", "0"}},
		{"src ::/0 proto ipv6-icmp type 0", keyed("0", "0", "0", "0", "3a", "6", "2"), 0, 0, [5]string{"0", "ffff", "ff", "f", "f"}},
		{"proto icmp type 8 code 0", keyed("0", "0", "8", "0", "1", "4", "2"), 96, 96, [5]string{"8", "0", "ff", "f", "f"}},
		{"proto udp sport 1024-65535 dport 0-1023", keyed("0", "0", "400", "0", "11", "4", "1"), 96, 96, [5]string{"ffff", "3ff", "ff", "f", "f"}},
		{"proto tcp dport 80-443", keyed("0", "0", "0", "50", "6", "4", "1"), 96, 96, [5]string{"ffff", "1bb", "ff", "f", "f"}},
		{"proto tcp sport 0-0", keyed("0", "0", "0", "0", "6", "4", "1"), 96, 96, [5]string{"0", "ffff", "ff", "f", "f"}},
		{"proto tcp sport 0-65535", keyed("0", "0", "0", "0", "6", "4", "0"), 96, 96, [5]string{"ffff", "ffff", "ff", "f", "0"}},
		{"src ::/0 proto ipv6-icmp type 1-4 code 5", keyed("0", "0", "1", "5", "3a", "6", "2"), 0, 0, [5]string{"4", "5", "ff", "f", "f"}},
		{"src ::/0 proto 135 type 1-4", keyed("0", "0", "1", "0", "87", "6", "2"), 0, 0, [5]string{"4", "ffff", "ff", "f", "f"}},
		{"proto icmp type 3 code 0-4", keyed("0", "0", "3", "0", "1", "4", "2"), 96, 96, [5]string{"3", "4", "ff", "f", "f"}},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet("addr add 192.0.2.1/24 dev black\n" + testbox.WindowedState("add", 1, 64, "") + inPolicy(test.words))
		r.checkSelector(test.words, test.keyed, test.src, test.dst, test.rest)
	}
}

// inPolicy lets what a selector names in by the SA of windowedState(…, 1, …).
func inPolicy(words string) string {
	return "xfrm policy add " + words + " dir fwd tmpl src 198.51.100.1 dst 192.0.2.1 proto esp mode tunnel\n"
}

func (r *rig) checkSelector(what string, key []place, src, dst int, rest [5]string) {
	r.T.Helper()
	r.checkRow(what, r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0], slices.Concat(key, []place{
		{"valid", 304, 304, "1"}, {"replay", 305, 305, "1"}, {"next_hop", 319, 312, "0"}, {"window_size", 335, 320, "40"}, {"window_row0", 351, 336, "0"},
		{"src_prefix", 407, 400, fmt.Sprintf("%x", src)}, {"dst_prefix", 415, 408, fmt.Sprintf("%x", dst)}, {"src_port_last", 431, 416, rest[0]},
		{"dst_port_last", 447, 432, rest[1]}, {"protocol_mask", 455, 448, rest[2]}, {"version_mask", 459, 456, rest[3]}, {"upper_mask", 463, 460, rest[4]},
	}))
}

// TestRowsBeginAlike: what packet.put relies on.
func TestRowsBeginAlike(t *testing.T) {
	f, u, s := regs.FlowRow, regs.RuleRow, regs.SelectorRow
	flow := []regs.Field{f.SrcAddr, f.DstAddr, f.SrcPort, f.DstPort, f.Protocol, f.Version, f.Upper}
	rule := []regs.Field{u.SrcAddr, u.DstAddr, u.SrcPort, u.DstPort, u.Protocol, u.Version, u.Upper}
	selector := []regs.Field{s.SrcAddr, s.DstAddr, s.SrcPort, s.DstPort, s.Protocol, s.Version, s.Upper}
	if !slices.Equal(flow, rule) || !slices.Equal(flow, selector) || f.Upper.LSB+f.Upper.Width != 8*38 {
		t.Errorf("flow %v, rule %v, selector %v", flow, rule, selector)
	}
	if !slices.Equal([]regs.Field{f.Sa, f.Priority, f.Valid, f.Action, f.Usage}, []regs.Field{u.Sa, u.Priority, u.Valid, u.Action, u.Usage}) {
		t.Error("the decisions of flow and rule rows stand in different places")
	}
}
