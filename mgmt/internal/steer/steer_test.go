// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestLongestRoute: written routes and Linux's lead to the SAs of their interfaces, the longest one
// counts, and what leads elsewhere or nowhere is cut out.
func TestLongestRoute(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must(network)
	for n := range 3 {
		b.Must("xfrm policy add dir out" + tunnel(n+1) + "xfrm policy add src ::/0 dir out" + tunnel(n+1) + state(n+1, n+1))
	}
	b.wants("10.2.0.1", "dropped")
	b.Must("route add default dev ipsec1\nroute add 10.2.0.0/16 dev ipsec2\nroute add 2001:db8:2::/48 dev ipsec3\n")
	b.learn(toward("10.2.3.0/24", "ipsec3"), toward("10.2.3.128/25", "ipsec1"), toward("10.4.0.0/16", "blackhole"), toward("10.4.1.0/24", "ipsec2"), toward("10.5.0.0/16", "ipsec4"), toward("0.0.0.0/0", "ipsec2"))
	for to, want := range map[string]string{
		"10.9.0.1": "0x1001", "10.2.0.1": "0x1002", "10.2.3.1": "0x1003", "10.2.3.200": "0x1001", "10.4.0.1": "dropped", "10.4.1.1": "0x1002",
		"10.5.0.1":      "dropped", // the box does not have that interface
		"10.1.0.1":      "dropped", // red's own network
		"2001:db8:2::1": "0x1003", "2001:db8:3::1": "dropped",
	} {
		b.wants(to, want)
	}
	b.Must("route del default dev ipsec1\n") // Linux's is there now
	b.wants("10.9.0.1", "0x1002")
	b.learn(toward("10.2.3.0/24", ""), toward("0.0.0.0/0", ""))
	b.wants("10.2.3.1", "0x1002")
	b.wants("10.9.0.1", "dropped")
	b.Must("link add ipsec4 type xfrm dev black if_id 4\nxfrm policy add dir out" + tunnel(4) + state(4, 4))
	b.wants("10.5.0.1", "0x1004")
}

// TestOrder: two policies of an interface count in the order of the SPD. A destination inside
// routes to the interface has its own. A rekeyed SA takes one row over, however many routes lead
// there.
func TestOrder(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must(network + "route add 10.0.0.0/8 dev ipsec1\nxfrm policy add dir out priority 5" + tunnel(1) + state(1, 1))
	var routes []learned.Change
	for n := range 300 {
		routes = append(routes, toward(fmt.Sprintf("20.%d.%d.0/24", n/100, n%100), "ipsec1"))
	}
	b.learn(routes...)
	b.wants("10.2.0.1", "0x1001")
	b.wants("20.2.9.1", "0x1001")
	b.Must("xfrm policy add src 10.1.0.9 dir out priority 4 action block if_id 1\n")
	b.wants("20.2.9.1", "dropped")
	b.Must("xfrm policy update src 10.1.0.9 dir out priority 6 action block if_id 1\n")
	b.wants("20.2.9.1", "0x1001")
	b.Must("xfrm policy add dst 10.2.0.0/16 dir out priority 1 action punt if_id 1\n")
	b.wants("10.2.0.1", "punted")
	b.wants("10.3.0.1", "0x1001")
	b.learn(toward("10.2.0.0/15", "ipsec2")) // and none leads there to the first interface
	b.wants("10.2.0.1", "dropped")
	b.learn(toward("10.2.0.0/15", ""))
	b.wants("10.2.0.1", "punted")
	b.Fake.Log = nil
	b.Must(state(2, 1))
	b.wants("20.0.0.1", "0x1002")
	rows := 0
	for _, w := range b.Fake.Log {
		if strings.Contains(fmt.Sprint(w), "prefix") {
			rows++
		}
	}
	if rows != 1 {
		t.Errorf("a new SA writes %d rows: %v", rows, b.Fake.Log)
	}
	b.Must("xfrm state deleteall reqid 1\n")
	b.wants("20.0.0.1", "punted") // until there is an SA
	b.sameAgain("in the end")
}

// TestCost: a further route and its end write as many rows among 16,384 routes as among few, with a
// default route around all.
func TestCost(t *testing.T) {
	if testing.Short() {
		t.Skip("16,384 routes take long")
	}
	const most = 2 * 12 * 4 // the nodes and children of two ways and their siblings
	for _, count := range []int{1, 1000, 16384} {
		b := newBox(t, sized(12, 6))
		b.Must(network + "route add default dev ipsec2\nxfrm policy add dir out" + tunnel(1) + "xfrm policy add dir out" + tunnel(2) + state(1, 1) + state(2, 2))
		var routes []learned.Change
		for n := range count {
			routes = append(routes, toward(fmt.Sprintf("%d.%d.%d.0/24", 20+n/16384, n/64%256, n%64*4), "ipsec1"))
		}
		for from := 0; from < count; from += 256 {
			b.learn(routes[from:min(from+256, count)]...)
		}
		if refused := b.model().FromLinux[learned.Steering].Refused(); refused > 0 {
			t.Errorf("%d of %d routes are refused", refused, count)
		}
		result := testing.Benchmark(func(bench *testing.B) {
			for n := range bench.N {
				b.learn(toward("20.9.1.0/24", []string{"ipsec1", ""}[n%2]))
			}
		})
		b.learn(toward("20.9.1.0/24", ""))
		b.Fake.Log = nil
		b.learn(toward("20.9.1.0/24", "ipsec1"))
		b.wants("20.9.1.1", "0x1001")
		b.learn(toward("20.9.1.0/24", ""))
		b.wants("20.9.1.1", "0x1002")
		if rows := len(b.Fake.Log); rows > most || rows < 2 {
			t.Errorf("two changes among %d routes write %d rows", count, rows)
		}
		policies := len(b.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy))
		t.Logf("%d routes: a change takes %d µs, two write %d rows; all share %d rows of policies", count, result.NsPerOp()/1000, len(b.Fake.Log), policies)
	}
}

// TestRefusals: each is a sentence, and the box stays as it was.
func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"xfrm policy add proto tcp dir out" + tunnel(1):                                                               "one prefix as src and one as dst, over IPv6 of at most 64 bits, and no proto or ports",
		"xfrm policy add dst 10.0.0.1-10.0.0.9 dir out" + tunnel(1):                                                   "one prefix as src and one as dst",
		"xfrm policy add src ::/0 dst 2001:db8::/65 dir out" + tunnel(1):                                              "at most 64 bits",
		"xfrm policy add src 10.1.0.0/24 dir out" + tunnel(1) + "xfrm policy add src 10.1.1.0/24 dir out" + tunnel(1): "besides one src there can be one policy for all others",
		"xfrm policy add dir out action allow\n":                                                                      "lets packets pass at priority 0, and policies of XFRM interfaces come before it: give it a priority from 1",
		"link add ipsec1 type xfrm dev black if_id 9\n":                                                               "there is a device ipsec1 already",
		"link add ipsec9 type xfrm dev black if_id 2\n":                                                               "the interface ipsec2 has if_id 0x2 already",
		"link add br0 type bridge\nlink set red master br0\nlink set black master br0\n":                              "a bridge, which has no routes",
		"route add 10.2.0.0/16 dev ipsec9\n":                                                                          `unknown device "ipsec9"`,
		"route add 10.2.0.0/16 via 10.1.0.2 dev ipsec1\n":                                                             "has no gateway: leave out via 10.1.0.2",
		"route add 224.0.0.0/4 dev ipsec1\n":                                                                          "packets to groups are never routed to an XFRM interface",
		"route add 2001:db8::/65 dev ipsec1\n":                                                                        "longer than /64",
		"addr add 10.9.0.1/24 dev ipsec1\n":                                                                           `"ipsec1"`,
		"link delete ipsec3\n":                                                                                        "ipsec3 has routes: delete them first",
		"xfrm policy delete src 0.0.0.0/0 dst 0.0.0.0/0 dir out if_id 3\n":                                            "there is no such policy",
		"xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 7 reqid 1 if_id 1 mode tunnel dir in replay-window 64 aead 'rfc4106(gcm(aes))' 0x0102030405060708090a0b0c0d0e0f1011121314 128\n" + "xfrm policy add src 10.2.0.0/16 dir in if_id 1" + in + "xfrm policy add src 10.3.0.0/16 dir in if_id 1" + in: "has policies that no single selector says",
	} {
		b := newBox(t, sized(8, 5))
		b.Must(network + "route add 10.3.0.0/16 dev ipsec3\n")
		before := b.Snapshot()
		if err := b.Change(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v", text, err)
		}
		if b.Snapshot() != before {
			t.Errorf("%s changed the box", text)
		}
	}
	b := newBox(t, sized(8, 2))
	b.Must("addr add 192.0.2.1/24 dev black\n")
	text := ""
	for n := range 4 {
		text += fmt.Sprintf("link add ipsec%d type xfrm dev black if_id %d\nxfrm policy add dir out%s", n+1, n+1, tunnel(n+1))
	}
	if err := b.Change(text); err == nil || !strings.Contains(err.Error(), "rows of the inner chip's table prefix_policy are in use") {
		t.Error(err)
	}
	b = newBox(t, sized(0, 0))
	if err := b.Change("link add ipsec1 type xfrm dev black if_id 1\n"); err == nil || !strings.Contains(err.Error(), "this inner chip has no table of policies by prefix") {
		t.Error(err)
	}
}

// in is the tmpl of inbound policies.
const in = " tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel\n"

// TestKilled: wherever a change of routes is cut short, packets to interfaces go by a tunnel of
// before or of after, and never in clear. The next daemon undoes the change, or has it whole.
func TestKilled(t *testing.T) {
	for at := 1; ; at += 5 {
		b := newBox(t, sized(8, 5))
		b.Must(network + "xfrm policy add dir out" + tunnel(1) + "xfrm policy add dir out" + tunnel(2) + state(1, 1) + state(2, 2))
		b.learn(toward("10.2.0.0/16", "ipsec1"), toward("0.0.0.0/0", "ipsec1"))
		b.Fake.FailAfter = at
		_, err := b.Daemon.LearnRoutes(learned.Steering, []learned.Change{toward("10.2.0.0/16", "ipsec2"), toward("10.2.7.0/24", "ipsec1"), toward("0.0.0.0/0", "ipsec2")})
		b.Fake.FailAfter = 0
		if err == nil {
			if at < 50 {
				t.Errorf("a change has %d accesses", at)
			}
			return
		}
		now := func() string { return b.goes("10.2.0.1") + b.goes("10.2.7.1") + b.goes("10.3.0.1") }
		if got := now(); got != "0x1001 0x1001 0x1001 " && got != "0x1002 0x1001 0x1002 " {
			t.Fatalf("killed at %d packets go by %s", at, got)
		}
		b.Restart()
		if _, err := b.Daemon.Undo(func([]xfrm.ID) {}); err != nil {
			t.Fatal(at, err)
		}
		if got := now(); got != "0x1001 0x1001 0x1001 " && got != "0x1002 0x1001 0x1002 " {
			t.Fatalf("killed at %d packets go by %s behind it", at, got)
		}
		b.learn(toward("10.4.0.0/16", "ipsec2"), toward("0.0.0.0/0", ""))
		b.wants("10.4.0.1", "0x1002")
		b.wants("10.3.0.1", "dropped")
	}
}

// TestReset: chips that were reset get the routes back with the rest of the configuration, and the
// policies wait for SAs.
func TestReset(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must(network + "xfrm policy add dir out" + tunnel(1) + state(1, 1) + "route add 10.2.0.0/16 dev ipsec1\n")
	b.learn(toward("10.3.0.0/16", "ipsec1"))
	b.wants("10.3.0.1", "0x1001")
	b.Fake.Reset()
	if _, err := b.Daemon.Restore(); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"10.2.0.1", "10.3.0.1"} {
		b.wants(to, "punted")
	}
	b.Must(state(2, 1))
	b.wants("10.2.0.1", "0x1002")
	b.wants("10.3.0.1", "0x1002")
	b.sameAgain("after a reset")
}

// TestShown: lists are as `ip` prints them, and the lines of a configuration make the same one.
func TestShown(t *testing.T) {
	b := newBox(t, sized(8, 5))
	b.Must("addr add 192.0.2.1/24 dev black\nlink add ipsec0 type xfrm if_id 0x2a\nroute add 10.2.0.0/16 dev ipsec0\nxfrm policy add dir out" + tunnel(42) + state(1, 42))
	b.learn(toward("10.3.0.0/16", "ipsec0"), toward("10.4.0.0/16", "other"))
	show := func(json bool, line string) string {
		var out strings.Builder
		b.Daemon.Out, b.Daemon.JSON = &out, json
		b.Must(line + "\n")
		return out.String()
	}
	for _, test := range []struct{ line, text, json string }{
		{"link show", "\nipsec0 type xfrm dev black if_id 0x2a\n", `"ifname":"ipsec0","flags":["NOARP","UP"],"link_type":"none","linkinfo":{"info_kind":"xfrm","info_data":{"if_id":"0x2a"}}`},
		{"route show", "10.2.0.0/16 dev ipsec0\n10.3.0.0/16 dev ipsec0 proto bgp\n", `[{"dst":"10.2.0.0/16","dev":"ipsec0","flags":[]},{"dst":"10.3.0.0/16","dev":"ipsec0","protocol":"bgp","flags":[]}]`},
		{"xfrm policy list", "reqid 42 mode tunnel\n\tif_id 0x2a\n", `"if_id":"0x2a"`},
		{"xfrm policy get src 0.0.0.0/0 dst 0.0.0.0/0 dir out if_id 42", "\tif_id 0x2a\n", `"found_by":"route"`},
		{"xfrm state list", "\n\tif_id 0x2a\n\tdir out\n", `"if_id":"0x2a"`},
	} {
		for json, want := range map[bool]string{false: test.text, true: test.json} {
			if got := show(json, test.line); !strings.Contains(got, want) {
				t.Errorf("%s prints %q without %q", test.line, got, want)
			}
		}
	}
	lines := b.model().Lines()
	for _, want := range []string{"link add name ipsec0 type xfrm dev black if_id 0x2a", "route add 10.2.0.0/16 dev ipsec0"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %q", want, lines)
		}
	}
	commands, err := xfrm.ParseConfig("f", []byte(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	next := b.model().Begin()
	if err := next.Replace(commands); err != nil || len(next.Differences(b.model())) > 0 {
		t.Errorf("%v, %v", err, next.Differences(b.model()))
	}
	b.Must("xfrm policy delete src 0.0.0.0/0 dst 0.0.0.0/0 dir out if_id 42\nroute del 10.2.0.0/16 dev ipsec0\nlink delete ipsec0\n")
	if got := show(false, "link show") + show(false, "xfrm policy list"); strings.Contains(got, "ipsec0") || strings.Contains(got, "if_id") {
		t.Error(got)
	}
}
