package box

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

const (
	key128 = "0x000102030405060708090a0b0c0d0e0fa0a1a2a3"
	key256 = "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fb0b1b2b3"
)

const tunnel = `
addr add 10.1.0.1/24 dev red
addr add 192.0.2.1/24 dev black
route add 10.2.0.0/16 via 192.0.2.2 dev black
neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black
neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel replay-window 64 flag esn aead "rfc4106(gcm(aes))" ` + key128 + ` 128
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel replay-window 1024 flag esn aead "rfc4106(gcm(aes))" ` + key256 + ` 128
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 100 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd priority 100 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir in priority 100 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.1.0.5/32 dst 10.2.0.7/32 proto udp sport 1000 dport 2000 dir out priority 50 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
`

// fieldHex is a field as a string of bytes, the lowest first.
func fieldHex(f regs.Field, row []uint32) string {
	return hex.EncodeToString(rowBytes(row)[f.LSB/8 : (f.LSB+f.Width)/8])
}

// low is the low four bytes of a field of 128 bits, with zeros above.
func low(hex string) string { return hex + strings.Repeat("0", 24) }

// TestTunnel checks every row of a two-way tunnel, field by field.
func TestTunnel(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.quiet(tunnel)
	check := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	out := r.fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)[0]
	o := regs.OutboundKeyRow
	check("outbound key", fieldHex(o.Key, out), key128[2:34]+strings.Repeat("0", 32))
	check("salt", fieldHex(o.Salt, out), "a0a1a2a3")
	// AES-128 and AES-256 of the zero block under the FIPS 197 appendix C keys, from OpenSSL.
	check("H", fieldHex(o.Auth, out)[:32], "c6a13b37878f5b826f4f8162a1c8d879")
	check("spi", o.Spi.Get(out), 0x1001)
	check("suite", o.Suite.Get(out), regs.SuiteAes128gcm16)
	check("esn", o.Esn.Get(out), 1)
	check("valid", o.Valid.Get(out), 1)
	check("iv mask", o.IvMask.Get(out), 0)
	check("soft limit", o.SoftLimit.Get(out), 0)
	check("hard limit", o.HardLimit.Get(out), 0)
	in := r.fake.Table(transport.Crypto, regs.CryptoTableInboundKey)[0]
	i := regs.InboundKeyRow
	check("inbound key", fieldHex(i.Key, in), key256[2:66])
	check("inbound H", fieldHex(i.Auth, in)[:32], "f29000b62a499fd0a9f39a6add2e7780")
	check("inbound suite", i.Suite.Get(in), regs.SuiteAes256gcm16)
	check("inbound window", i.Window.Get(in), 1024)

	tun := r.fake.Table(transport.Outer, regs.OuterTableTunnel)[0]
	f := regs.TunnelRow
	check("tunnel", []uint64{f.Valid.Get(tun), f.SrcAddr.Get(tun), f.DstAddr.Get(tun), f.Ttl.Get(tun), f.DscpCopy.Get(tun), f.EcnCopy.Get(tun), f.DfMode.Get(tun), f.NextHop.Get(tun), f.Mtu.Get(tun)},
		[]uint64{1, 0xC0000201, 0xC0000202, 64, 1, 1, regs.DfModeCopy, 1, 0})
	check("black hop", rowBytes(r.fake.Table(transport.Outer, regs.OuterTableNextHop)[1])[:7], []byte{2, 0, 0, 0, 0, 0x22, 1})
	check("red hop", rowBytes(r.fake.Table(transport.Inner, regs.InnerTableNextHop)[1])[:7], []byte{2, 0, 0, 0, 0, 0x09, 1})

	sel := r.fake.Table(transport.Inner, regs.InnerTableSelector)[0]
	s := regs.SelectorRow
	check("selector", []uint64{s.Valid.Get(sel), s.Replay.Get(sel), s.WindowSize.Get(sel), s.NextHop.Get(sel), s.SrcPrefix.Get(sel), s.DstPrefix.Get(sel), s.Protocol.Get(sel), s.ProtocolMask.Get(sel), s.SrcPortLast.Get(sel)},
		[]uint64{1, 1, 1024, 1, 112, 112, 0, 0, 0xFFFF})
	check("selector's addresses", []string{fieldHex(s.SrcAddr, sel), fieldHex(s.DstAddr, sel)}, []string{low("0000020a"), low("0000010a")})
	sa, ok := r.sad(0x2001, "192.0.2.1")
	check("SAD", []any{sa, ok}, []any{0, true})

	rule := r.fake.Table(transport.Inner, regs.InnerTableRule)[0]
	u := regs.RuleRow
	check("rule", []uint64{u.Valid.Get(rule), u.Action.Get(rule), u.Sa.Get(rule), u.Priority.Get(rule)},
		[]uint64{1, regs.ActionProtect, 0, 100})
	check("rule's addresses", []string{fieldHex(u.SrcAddr, rule), fieldHex(u.DstAddr, rule)}, []string{low("0000010a"), low("0000020a")})
	action, sa, priority, ok := r.flow("10.1.0.5", "10.2.0.7", 17, 1000, 2000)
	check("flow", []any{action, sa, priority, ok}, []any{regs.ActionProtect, 0, 50, true})
	check("outer rules", len(r.fake.Table(transport.Outer, regs.OuterTableRule)), 0)

	check("inner control", r.fake.Get(transport.Inner, regs.InnerControl), 3)
	check("outer control", r.fake.Get(transport.Outer, regs.OuterControl), 3)
	check("crypto control", r.fake.Get(transport.Crypto, regs.CryptoControl), 1)
	check("local address", r.fake.Get(transport.Outer, regs.OuterLocalIpv4), 0xC0000201)
	check("MTU", r.fake.Get(transport.Outer, regs.OuterPortMtu), 9582)
	check("port MAC", []uint32{r.fake.Get(transport.Outer, regs.OuterPortMacLo), r.fake.Get(transport.Outer, regs.OuterPortMacHi)}, []uint32{0x00C06202, 0x0102})

	// Keys before what leads to them.
	order := map[string]int{}
	for n, w := range r.fake.Log {
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
	text, err := os.ReadFile(r.state)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(r.state); info.Mode().Perm() != 0o600 {
		t.Errorf("the state file has mode %v", info.Mode())
	}
	for _, secret := range []string{"0001020304", "AAECAw", "a0a1a2a3", "2695909888"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the state file holds a key (%s)", secret)
		}
	}

	r.quiet("xfrm state list\nxfrm state count\nxfrm policy count\nxfrm policy list dir out")
	for _, want := range []string{"spi 0x00001001 reqid 1 mode tunnel", "aead rfc4106(gcm(aes)) <redacted> 128", "\tdir out", "SAD count 2", "SPD IN  1 OUT 2 FWD 1", "proto udp sport 1000 dport 2000"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("lists lack %q:\n%s", want, r.out)
		}
	}
	if len(r.fake.Log) != 0 {
		t.Error("a list wrote rows")
	}
	r.must("xfrm state flush\nxfrm policy flush\naddr del 10.1.0.1/24 dev red")
	if left := r.snapshot(); left != "" {
		t.Errorf("rows are left after a flush:\n%s", left)
	}
}

// TestOneByOne: the same lines, an invocation each, give the same tables.
func TestOneByOne(t *testing.T) {
	whole, single := newRig(t, fakebox.Small), newRig(t, fakebox.Small)
	whole.quiet(tunnel)
	for _, line := range strings.Split(strings.TrimSpace(tunnel), "\n") {
		single.must(line)
	}
	if a, b := whole.snapshot(), single.snapshot(); a != b {
		t.Errorf("at once:\n%s\none by one:\n%s", a, b)
	}
}

// TestNothingHalfInstalled: after a good batch, a batch with one mistake changes no register, and the sentence names the line.
func TestNothingHalfInstalled(t *testing.T) {
	good := "xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x3001 mode tunnel dir out aead \"rfc4106(gcm(aes))\" " + key128 + " 128\n"
	policy := "tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel"
	for _, test := range []struct{ line, reason string }{
		{good, "a second SA with dst 192.0.2.2 proto esp spi 0x3001: the first is in line 1"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 mode tunnel dir out aead \"rfc4106(gcm(aes))\" " + key128 + " 128", "is installed already"},
		{"xfrm state update src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x9999 mode tunnel dir out aead \"rfc4106(gcm(aes))\" " + key128 + " 128", "to update"},
		{"xfrm state delete dst 192.0.2.2 proto esp spi 0x9999", "there is no SA"},
		{"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out", "a second policy"},
		{"xfrm policy delete src 10.1.0.0/17 dst 10.2.0.0/16 dir out", "no such policy"},
		{"xfrm policy add src 10.3.0.0/16 dst 10.1.0.0/16 proto tcp sport 1-65534 dport 1-65534 dir in " + policy, "the 32 rules for inbound SAs of the inner chip, of which 32 are free"},
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
		r.quiet(tunnel)
		before, state := r.snapshot(), readFile(t, r.state)
		writes := r.fake.Writes
		err := r.run(good + test.line + "\n")
		if err == nil || !strings.Contains(err.Error(), test.reason) || !IsInput(err) {
			t.Errorf("%s\n gave %v\n want %q", test.line, err, test.reason)
			continue
		}
		if !strings.HasPrefix(err.Error(), "f:2: ") && !strings.HasPrefix(err.Error(), "f:3: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: not one sentence with its line: %q", test.line, err)
		}
		if r.fake.Writes != writes || r.snapshot() != before || readFile(t, r.state) != state {
			t.Errorf("%s: something was written", test.line)
		}
	}
}

func readFile(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
