// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

const (
	cipherKey = "0x0123456789abcdeffedcba9876543210"
	hmacKey   = "0x202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
	sm4sm3    = "enc 'cbc(sm4)' " + cipherKey + " auth-trunc 'hmac(sm3)' " + hmacKey
	chacha    = "aead 'rfc7539esp(chacha20,poly1305)' " + testbox.Key256 + " 128"
	nullSHA   = "enc 'ecb(cipher_null)' '' auth-trunc 'hmac(sha256)' " + hmacKey + " 128"
)

func sa(spi int, way, algorithms string) string {
	src, dst := "192.0.2.1", "192.0.2.2"
	if way == "in" {
		src, dst = dst, src
	}
	return fmt.Sprintf("xfrm state add src %s dst %s proto esp spi %d mode tunnel replay-window 64 dir %s %s\n", src, dst, spi, way, algorithms)
}

// TestSuiteRows: what distinguishes the rows of suites; package keys tests the secrets themselves.
func TestSuiteRows(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(sa(1, "out", sm4sm3+" 96") + sa(2, "out", strings.Replace(sm4sm3, "0x01", "0x11", 1)+" 256") + sa(3, "out", nullSHA) + sa(4, "in", sm4sm3+" 128"))
	o, i := regs.OutboundKeyRow, regs.InboundKeyRow
	out, in := r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey), r.Fake.Table(transport.Crypto, regs.CryptoTableInboundKey)
	for row, want := range [][]uint64{{regs.SuiteSm4Sm3, regs.IcvBits96}, {regs.SuiteSm4Sm3, regs.IcvBits256}, {regs.SuiteNullSha256, 0}} {
		if got := []uint64{o.Suite.Get(out[row]), o.Icv.Get(out[row])}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("row %d: suite and ICV %v, not %v", row, got, want)
		}
	}
	if got := []uint64{i.Suite.Get(in[0]), i.Icv.Get(in[0])}; fmt.Sprint(got) != fmt.Sprint([]uint64{regs.SuiteSm4Sm3, regs.IcvBits128}) {
		t.Errorf("inbound: suite and ICV %v", got)
	}
	if outbound := testbox.FieldHex(o.Key, out[0])[:32]; outbound != cipherKey[2:] || testbox.FieldHex(i.Key, in[0])[:32] == outbound {
		t.Errorf("outbound CBC starts from %s", outbound)
	}
	if testbox.FieldHex(o.Auth, out[0]) != testbox.FieldHex(i.Auth, in[0]) || strings.Trim(testbox.FieldHex(o.Key, out[2])+testbox.FieldHex(o.Salt, out[2]), "0") != "" {
		t.Error("the HMAC states of both directions differ, or NULL has a key")
	}
	r.Must("xfrm state list")
	if want := "\tauth-trunc hmac(sm3) <redacted> 256\n\tenc cbc(sm4) <redacted>\n"; !strings.Contains(r.Out, want) || strings.Contains(r.Out, "fedcba") {
		t.Errorf("the list lacks %q:\n%s", want, r.Out)
	}
	r.Must("xfrm state flush") // from the state file alone, which holds no key
}

// TestSuiteNotBuilt: a batch with a suite that the chip lacks changes nothing.
func TestSuiteNotBuilt(t *testing.T) {
	sizes := fakebox.Small
	sizes.Suites = 1<<regs.SuiteAes128gcm16 | 1<<regs.SuiteNullSha256
	r := newRig(t, sizes)
	err := r.Run(sa(1, "out", nullSHA) + sa(2, "out", chacha))
	if err == nil || !session.IsInput(err) || err.Error() != "f:2: chacha20poly1305 is not built into this crypto chip, which has aes128gcm16, null-sha256" {
		t.Errorf("%v", err)
	}
	if r.Fake.Writes != 0 {
		t.Errorf("%d registers were written", r.Fake.Writes)
	}
}

// TestRepeatedKeys: the refusal says what the second use of a key breaks, in one batch and later,
// and a suite that repeats nothing may have its key again.
func TestRepeatedKeys(t *testing.T) {
	ctr := "enc 'rfc3686(ctr(sm4))' " + cipherKey + "a0a1a2a3 auth 'hmac(sm3)' " + hmacKey
	sm4gcm := "aead 'rfc4106(gcm(sm4))' " + cipherKey + "a0a1a2a3 128"
	for _, test := range []struct{ first, second, broken string }{
		{chacha, chacha, "nonces repeat, which breaks secrecy and authenticity alike"},
		{ctr, sm4gcm, "nonces repeat, which breaks secrecy and authenticity alike"},
		{sm4gcm, ctr, "counter blocks repeat, which gives the texts away"},
		{sm4sm3 + " 96", sm4sm3 + " 128", "IVs repeat, which shows where texts begin alike"},
	} {
		r := newRig(t, fakebox.Small)
		r.Remembers = true
		both := r.Run(sa(1, "out", test.first) + sa(2, "out", test.second))
		r.Must(sa(1, "out", test.first))
		r.Must("xfrm state flush")
		for _, err := range []error{both, r.Run(sa(2, "out", test.second))} {
			if err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), test.broken) {
				t.Errorf("%s, then %s: %v lacks %q", test.first[:12], test.second[:12], err, test.broken)
			}
		}
	}
	r := newRig(t, fakebox.Small)
	r.Remembers = true
	r.Quiet(sa(1, "out", nullSHA) + sa(2, "out", nullSHA))
	r.Quiet("xfrm state flush")
	r.Must(sa(3, "out", nullSHA))
}
