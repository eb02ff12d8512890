// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// rig is a fake box, with what the tests of this package look at.
type rig struct{ *testbox.Rig }

func newRig(t *testing.T, sizes fakebox.Sizes) *rig { return &rig{testbox.New(t, sizes)} }

// TestTunnel checks every row of a two-way tunnel, field by field.
func TestTunnel(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Tunnel)
	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	out := r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]
	o := regs.OutboundKeyRow
	check("outbound key", testbox.FieldHex(o.Key, out), testbox.Key128[2:34]+strings.Repeat("0", 32))
	check("salt", testbox.FieldHex(o.Salt, out), "a0a1a2a3")
	// AES-128 and AES-256 of the zero block under the FIPS 197 appendix C keys, from OpenSSL.
	check("H", testbox.FieldHex(o.Auth, out)[:32], "c6a13b37878f5b826f4f8162a1c8d879")
	check("spi", o.Spi.Get(out), 0x1001)
	check("suite", o.Suite.Get(out), regs.SuiteAes128gcm16)
	check("esn", o.Esn.Get(out), 1)
	check("valid", o.Valid.Get(out), 1)
	check("iv mask", o.IvMask.Get(out), 0)
	check("soft limit", o.SoftLimit.Get(out), 0)
	check("hard limit", o.HardLimit.Get(out), 0)
	in := r.Fake.Table(transport.Crypto, regs.CryptoTableInboundKey)[0]
	i := regs.InboundKeyRow
	check("inbound key", testbox.FieldHex(i.Key, in), testbox.Key256[2:66])
	check("inbound H", testbox.FieldHex(i.Auth, in)[:32], "f29000b62a499fd0a9f39a6add2e7780")
	check("inbound suite", i.Suite.Get(in), regs.SuiteAes256gcm16)
	check("inbound window", i.Window.Get(in), 1024)

	tun := r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[0]
	f := regs.TunnelRow
	check("tunnel", []uint64{f.Valid.Get(tun), f.SrcAddr.Get(tun), f.DstAddr.Get(tun), f.Ttl.Get(tun), f.DscpCopy.Get(tun), f.EcnCopy.Get(tun), f.DfMode.Get(tun), f.NextHop.Get(tun), f.Mtu.Get(tun)},
		[]uint64{1, 0xC0000201, 0xC0000202, 64, 1, 1, regs.DfModeCopy, 1, 0})
	check("black hop", testbox.RowBytes(r.Fake.Table(transport.Outer, regs.OuterTableNextHop)[1])[:7], []byte{2, 0, 0, 0, 0, 0x22, 1})
	check("red hop", testbox.RowBytes(r.Fake.Table(transport.Inner, regs.InnerTableNextHop)[1])[:7], []byte{2, 0, 0, 0, 0, 0x09, 1})

	sel := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]
	s := regs.SelectorRow
	check("selector", []uint64{s.Valid.Get(sel), s.Replay.Get(sel), s.WindowSize.Get(sel), s.NextHop.Get(sel), s.SrcPrefix.Get(sel), s.DstPrefix.Get(sel), s.Protocol.Get(sel), s.ProtocolMask.Get(sel), s.SrcPortLast.Get(sel)},
		[]uint64{1, 1, 1024, 1, 112, 112, 0, 0, 0xFFFF})
	check("selector's addresses", []string{testbox.FieldHex(s.SrcAddr, sel), testbox.FieldHex(s.DstAddr, sel)}, []string{testbox.Low("0000020a"), testbox.Low("0000010a")})
	sa, ok := r.Sad(0x2001, "192.0.2.1")
	check("SAD", []any{sa, ok}, []any{0, true})

	rule := r.Fake.Table(transport.Inner, regs.InnerTableRule)[0]
	u := regs.RuleRow
	check("rule", []uint64{u.Valid.Get(rule), u.Action.Get(rule), u.Sa.Get(rule), u.Priority.Get(rule)},
		[]uint64{1, regs.ActionProtect, 0, 100})
	check("rule's addresses", []string{testbox.FieldHex(u.SrcAddr, rule), testbox.FieldHex(u.DstAddr, rule)}, []string{testbox.Low("0000010a"), testbox.Low("0000020a")})
	action, sa, priority, ok := r.Flow("10.1.0.5", "10.2.0.7", 17, 1000, 2000)
	check("flow", []any{action, sa, priority, ok}, []any{regs.ActionProtect, 0, 50, true})
	check("outer rules", len(r.Fake.Table(transport.Outer, regs.OuterTableRule)), 0)

	check("inner control", r.Fake.Get(transport.Inner, regs.InnerControl), 7)
	check("outer control", r.Fake.Get(transport.Outer, regs.OuterControl), 7)
	check("crypto control", r.Fake.Get(transport.Crypto, regs.CryptoControl), 1)
	check("local address", r.Fake.Get(transport.Outer, regs.OuterLocalIpv4), 0xC0000201)
	check("MTU", r.Fake.Get(transport.Outer, regs.OuterPortMtu), 9582)
	check("MTU of red", r.Fake.Get(transport.Inner, regs.InnerPortMtu), 9582)
	check("port MAC", []uint32{r.Fake.Get(transport.Outer, regs.OuterPortMacLo), r.Fake.Get(transport.Outer, regs.OuterPortMacHi)}, []uint32{0x00C06202, 0x0102})

	// Keys before what leads to them.
	order := map[string]int{}
	for n, w := range r.Fake.Log {
		if _, seen := order[w.Chip.String()+w.Table]; !seen {
			order[w.Chip.String()+w.Table] = n
		}
	}
	for _, pair := range [][2]string{{"cryptooutbound_key", "innerflow"}, {"cryptooutbound_key", "innerrule"}, {"outertunnel", "innerrule"}, {"cryptoinbound_key", "outersad"}, {"innerselector", "outersad"}, {"outernext_hop", "outertunnel"}} {
		if order[pair[0]] > order[pair[1]] {
			t.Errorf("%s was written after %s", pair[0], pair[1])
		}
	}

	// Nothing but the tables knows the keys.
	text, err := os.ReadFile(r.State)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(r.State); info.Mode().Perm() != 0o600 {
		t.Errorf("the state file has mode %v", info.Mode())
	}
	for _, secret := range []string{"0001020304", "AAECAw", "a0a1a2a3", "2695909888"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the state file holds a key (%s)", secret)
		}
	}

	r.Quiet("xfrm state list\nxfrm state count\nxfrm policy count\nxfrm policy list dir out")
	for _, want := range []string{"spi 0x00001001 reqid 1 mode tunnel", "aead rfc4106(gcm(aes)) <redacted> 128", "\tdir out", "SAD count 2", "SPD IN  1 OUT 2 FWD 1", "proto udp sport 1000 dport 2000"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("lists lack %q:\n%s", want, r.Out)
		}
	}
	if len(r.Fake.Log) != 0 {
		t.Error("a list wrote rows")
	}
	r.Must("xfrm state flush\nxfrm policy flush\naddr del 10.1.0.1/24 dev red")
	if left := r.Snapshot(); left != "" {
		t.Errorf("rows are left after a flush:\n%s", left)
	}
}

// TestOneByOne: the same lines, an invocation each, give the same tables.
func TestOneByOne(t *testing.T) {
	whole, single := newRig(t, fakebox.Small), newRig(t, fakebox.Small)
	whole.Quiet(testbox.Tunnel)
	for _, line := range strings.Split(strings.TrimSpace(testbox.Tunnel), "\n") {
		single.Must(line)
	}
	if a, b := whole.Snapshot(), single.Snapshot(); a != b {
		t.Errorf("at once:\n%s\none by one:\n%s", a, b)
	}
}

// TestNothingHalfInstalled: after a good batch, a batch with one mistake changes no register, and
// the sentence names the line.
func TestNothingHalfInstalled(t *testing.T) {
	good := "xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x3001 mode tunnel dir out aead \"rfc4106(gcm(aes))\" " + testbox.Key128 + " 128\n"
	policy := "tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel"
	for _, test := range []struct{ line, reason string }{
		{good, "a second SA with dst 192.0.2.2 proto esp spi 0x3001: the first is in line 1"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 mode tunnel dir out aead \"rfc4106(gcm(aes))\" " + testbox.Key128 + " 128", "is installed already"},
		{"xfrm state update src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x9999 mode tunnel dir out aead \"rfc4106(gcm(aes))\" " + testbox.Key128 + " 128", "to update"},
		{"xfrm state delete dst 192.0.2.2 proto esp spi 0x9999", "there is no SA"},
		{"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out", "a second policy"},
		{"xfrm policy delete src 10.1.0.0/17 dst 10.2.0.0/16 dir out", "no such policy"},
		{"xfrm policy add src 10.3.0.0/16 dst 10.1.0.0/16 proto tcp sport 1-65534 dport 1-65534 dir in " + policy, "the 32 inbound rules of the inner chip, and 32 are free"},
		{"xfrm policy add src 10.9.0.0/16 dst 10.1.0.0/16 dir in action allow\nxfrm policy add src 10.9.0.0/16 dst 10.1.0.0/16 dir fwd action block", "differ"},
		{"xfrm policy add src 10.9.0.0/16 dst 10.1.0.0/16 dir out index 8", "three low bits"},
		{"xfrm policy add src 10.9.0.0/16 dst 10.1.0.0/16 dir out index 9", "second policy with index 9"},
		{"xfrm policy add src 10.7.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.2 dst 192.0.2.1 proto esp mode tunnel", "installed as inbound"},
		{"addr add 10.1.0.1/24 dev red", "already"},
		{"addr add 192.0.2.77/24 dev red", "different networks"},
		{"addr del 10.1.0.2/24 dev red", "has no address"},
		{"route add 10.2.0.0/16 via 192.0.2.9 dev black", "already"},
		{"route add 10.5.0.0/16 via 172.16.0.1", "name the device"},
		{"route del 10.5.0.0/16", "no route"},
		{"neigh add 192.0.2.2 lladdr 02:00:00:00:00:23 dev black", "neigh replace"},
		{"neigh del 192.0.2.3 dev black", "no neighbour"},
		{"frobnicate", "unknown command"},
	} {
		r := newRig(t, fakebox.Small)
		r.Quiet(testbox.Tunnel)
		before, state := r.Snapshot(), testbox.ReadFile(t, r.State)
		writes := r.Fake.Writes
		err := r.Run(good + test.line + "\n")
		if err == nil || !strings.Contains(err.Error(), test.reason) || !session.IsInput(err) {
			t.Errorf("%s\n gave %v\n want %q", test.line, err, test.reason)
			continue
		}
		if !strings.HasPrefix(err.Error(), "f:2: ") && !strings.HasPrefix(err.Error(), "f:3: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: not one sentence with its line: %q", test.line, err)
		}
		if r.Fake.Writes != writes || r.Snapshot() != before || testbox.ReadFile(t, r.State) != state {
			t.Errorf("%s: something was written", test.line)
		}
	}
}
