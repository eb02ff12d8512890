// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
)

// listed reads the selector of a policy.
func listed(t *testing.T, words string) Selector {
	t.Helper()
	return parseOne(t, "xfrm policy add "+words+" dir out").(PolicyAdd).Policy.Selector
}

// TestAddressLists: a list as written, its canonical name and the prefix around it. The list comes
// back from a state file and from its own name.
func TestAddressLists(t *testing.T) {
	for _, test := range []struct{ words, src, around string }{
		{"10.0.0.1-10.0.0.20", "10.0.0.1-10.0.0.20", "10.0.0.0/27"},
		{"10.1.0.0/16,10.0.0.1-10.0.0.20", "10.0.0.1-10.0.0.20,10.1.0.0/16", "10.0.0.0/15"},
		{"10.0.0.7,10.0.0.9", "10.0.0.7/32,10.0.0.9/32", "10.0.0.0/28"},
		{"0.0.0.0-255.255.255.254", "0.0.0.0-255.255.255.254", "0.0.0.0/0"},
		{"0.0.0.1-255.255.255.254", "0.0.0.1-255.255.255.254", "0.0.0.0/0"},
		{"2001:db8::1-2001:db8::f,2001:db8:1::/48", "2001:db8::1-2001:db8::f,2001:db8:1::/48", "2001:db8::/47"},
		{"2001:DB8:0::ffff-2001:db8::1:0", "2001:db8::ffff-2001:db8::1:0", "2001:db8::/111"},
		{"::ffff:10.0.0.1-::ffff:10.0.0.2", "::ffff:10.0.0.1-::ffff:10.0.0.2", "::ffff:10.0.0.0/126"},
		// Adjacent ranges become one, and a list that is a prefix becomes that prefix.
		{"10.0.0.21-10.0.0.30,10.0.0.1-10.0.0.20", "10.0.0.1-10.0.0.30", "10.0.0.0/27"},
		{"10.0.0.0-10.0.0.255", "10.0.0.0/24", ""},
		{"10.0.0.0/25,10.0.0.128/25", "10.0.0.0/24", ""},
		{"10.0.0.5-10.0.0.5", "10.0.0.5/32", ""},
		{"0.0.0.0-127.255.255.255,128.0.0.0/1", "0.0.0.0/0", ""},
		{"::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0", ""},
	} {
		s := listed(t, "src "+test.words)
		other := "0.0.0.0/0"
		if s.Version() == 6 {
			other = "::/0"
		}
		if got, want := s.String(), "src "+test.src+" dst "+other; got != want {
			t.Errorf("%s prints as %q, want %q", test.words, got, want)
		}
		if list := (test.around != ""); s.Listed() != list || list && s.Src.String() != test.around {
			t.Errorf("%s is a list: %v, in %s", test.words, s.Listed(), s.Src)
		}
		var again Selector
		stored, err := json.Marshal(s)
		if err != nil || json.Unmarshal(stored, &again) != nil || again != s {
			t.Errorf("%s comes back from %s as %+v", test.words, stored, again)
		}
		if same := listed(t, s.String()); same != s {
			t.Errorf("%s read again is %+v", s, same)
		}
		if mirror := listed(t, "dst "+test.words); mirror.DstList != s.SrcList || mirror.Dst != s.Src || mirror.Listed() != s.Listed() {
			t.Errorf("%s as dst is %+v", test.words, mirror)
		}
	}
	var s Selector
	if err := json.Unmarshal([]byte(`{"src":"10.0.0.0/8","dst":"10.0.0.0/8","src_list":"10.0.0.1-x"}`), &s); err == nil {
		t.Error("a damaged list was read")
	}
}

// TestRefusedAddressLists: one sentence each, which says what to write.
func TestRefusedAddressLists(t *testing.T) {
	odd := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("10.0.%d.%d", i/100, i%100*2+1))
		}
		return strings.Join(out, ",")
	}
	for words, reason := range map[string]string{
		"src 10.0.0.20-10.0.0.1":                                      "the range 10.0.0.20-10.0.0.1 after src is the wrong way round: write 10.0.0.1-10.0.0.20",
		"dst 10.0.0.0/8,2001:db8::2-2001:db8::1":                      "the range 2001:db8::2-2001:db8::1 after dst is the wrong way round",
		"src 10.0.0.1-2001:db8::1":                                    "the ends of the range 10.0.0.1-2001:db8::1 after src are of different IP versions",
		"src 10.0.0.0/8,2001:db8::/32":                                "the list after src has both IP versions, 10.0.0.0/8 and 2001:db8::/32: write a policy for each version",
		"dst 2001:db8::1-2001:db8::3,10.0.0.1":                        "both IP versions, 2001:db8::1-2001:db8::3 and 10.0.0.1/32",
		"src 10.0.0.1-10.0.0.9 dst 2001:db8::1":                       "src and dst of a selector must be of one IP version, not 10.0.0.1-10.0.0.9 and 2001:db8::1/128",
		"src 10.0.0.0/8,10.1.0.0/16":                                  "10.1.0.0/16 is in 10.0.0.0/8, which the list after src has too: leave it out",
		"src 10.0.0.0/16,10.0.0.0/8":                                  "10.0.0.0/16 is in 10.0.0.0/8",
		"src 10.0.0.5,10.0.0.1-10.0.0.5":                              "10.0.0.5/32 is in 10.0.0.1-10.0.0.5",
		"src 10.0.0.1-10.0.0.9,1.0.0.0/8,10.0.0.9-10.0.0.30":          "10.0.0.1-10.0.0.9 and 10.0.0.9-10.0.0.30 in the list after src overlap: write 10.0.0.1-10.0.0.30",
		"src 10.0.0.7,10.0.0.7/32":                                    "10.0.0.7/32 stands twice in the list after src",
		"src 10.0.0.1,":                                               "has nothing beside one",
		"src ,10.0.0.1":                                               "has nothing beside one",
		"src 10.0.0.1,,10.0.0.2":                                      "has nothing beside one",
		"src 10.0.0.1, 10.0.0.2":                                      "has nothing beside one",
		"src 10.0.0.0/24-10.0.1.0":                                    "each end of a range after src must be an IPv4 or IPv6 address, not as in \"10.0.0.0/24-10.0.1.0\"",
		"src 10.0.0.1-10.0.0.2-10.0.0.3":                              "each end of a range",
		"src 10.0.0.1-":                                               "each end of a range",
		"src -10.0.0.1":                                               "each end of a range",
		"src 10.0.0.1,10.0.0.x":                                       "the prefix after src must be an IPv4 or IPv6 address, not \"10.0.0.x\"",
		"src 10.0.0.1,10.0.0.2/24":                                    "has bits set beyond its length of 24: write 10.0.0.0/24",
		"dst " + odd(65):                                              "the addresses after dst take 65 prefixes to cover, and a policy may have 64 a side",
		"src 2001:db8::1-2001:dbf:ffff:ffff:ffff:ffff:ffff:fffe":      "prefixes to cover",
		"src " + odd(64) + " dst " + odd(64) + " proto udp dport 1-2": "the selector takes 8192 rules, one for each prefix and block of ports with each, and a policy may have 4096",
		"src 10.0.0.1-10.0.0.9 proto 58 type 1":                       "type of ipv6-icmp is of no packet in an IPv4 selector",
	} {
		_, err := ParseBatch("f", []byte("xfrm policy add "+words+" dir out"))
		if err == nil || !strings.HasPrefix(err.Error(), "f:1: ") || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %s", words, err, reason)
		}
	}
	// At and below the limits.
	for _, words := range []string{"src " + odd(64) + " dst " + odd(64), "src " + odd(63), "src 0.0.0.1-255.255.255.254"} {
		s := listed(t, words)
		if parts := s.Parts(); len(parts) > MaxPolicyRules {
			t.Errorf("%s has %d parts", words, len(parts))
		}
	}
	_, err := ParseBatch("f", []byte("xfrm state add "+sa+"mode tunnel sel src 10.0.0.1-10.0.0.9 "+gcm))
	if err == nil || !strings.Contains(err.Error(), "the sel of a state takes one prefix as src, not \"10.0.0.1-10.0.0.9\"") {
		t.Errorf("the sel of a state gave %v", err)
	}
	_, err = ParseBatch("f", []byte("xfrm policy add src 10.0.0.1-10.0.0.9 dst 10.1.0.0/16 dir out tmpl src 10.0.0.10 proto esp mode transport"))
	if err == nil || !strings.Contains(err.Error(), "the tmpl's src 10.0.0.10 is not in the policy's src 10.0.0.1-10.0.0.9") {
		t.Errorf("hosts outside a list gave %v", err)
	}
}

// TestPrefixesOfLists: each address of a list is in just one prefix, no other is, and ranges take
// as few as the same range of ports takes blocks.
func TestPrefixesOfLists(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		a, b := uint16(random.IntN(1<<16)), uint16(random.IntN(1<<16))
		first, last := min(a, b), max(a, b)
		at := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}) }
		s := listed(t, fmt.Sprintf("src %s-%s", at(int(first)), at(int(last))))
		parts := s.Parts()
		if want := len((Range{true, first, last}).Blocks()); len(parts) != want {
			t.Fatalf("%s takes %d prefixes, want %d", s, len(parts), want)
		}
		for _, n := range []int{0, int(first) - 1, int(first), int(first) + 1, (int(first) + int(last)) / 2, int(last) - 1, int(last), int(last) + 1, 1 << 16} {
			if n < 0 {
				continue
			}
			in := 0
			for _, part := range parts {
				if part.Src.Contains(at(n)) {
					in++
				}
			}
			want := 0
			if int(first) <= n && n <= int(last) {
				want = 1
			}
			host := netip.PrefixFrom(at(n), 32)
			if in != want || s.Covers(Selector{Src: host, Dst: Everything}) != (want == 1) || s.Overlaps(Selector{Src: host, Dst: Everything}) != (want == 1) {
				t.Fatalf("%s: %s is in %d prefixes", s, at(n), in)
			}
		}
	}
}

// TestListsAgainstOthers: what covers what, and what overlaps, by addresses one by one.
func TestListsAgainstOthers(t *testing.T) {
	for _, test := range []struct {
		a, b                    string
		aCovers, bCovers, share bool
	}{
		{"10.0.0.1-10.0.0.20", "10.0.0.0/24", false, true, true},
		{"10.0.0.1-10.0.0.20", "10.0.0.4/30", true, false, true},
		{"10.0.0.1-10.0.0.20", "10.0.0.20-10.0.0.30", false, false, true},
		{"10.0.0.1-10.0.0.20", "10.0.0.21-10.0.0.30", false, false, false},
		{"10.0.0.1-10.0.0.20,10.0.0.30-10.0.0.40", "10.0.0.21-10.0.0.29", false, false, false},
		{"10.0.0.1-10.0.0.20,10.0.0.30-10.0.0.40", "10.0.0.2-10.0.0.19,10.0.0.40", true, false, true},
		{"10.0.0.1-10.0.0.20,10.0.0.30-10.0.0.40", "10.0.0.2-10.0.0.31", false, false, true},
		{"10.0.0.1-10.0.0.20", "2001:db8::1-2001:db8::2", false, false, false},
	} {
		a, b := listed(t, "dst "+test.a), listed(t, "dst "+test.b)
		if a.Covers(b) != test.aCovers || b.Covers(a) != test.bCovers || a.Overlaps(b) != test.share || b.Overlaps(a) != test.share || !a.Covers(a) || !a.Overlaps(a) {
			t.Errorf("%s and %s: cover %v %v, overlap %v %v", test.a, test.b, a.Covers(b), b.Covers(a), a.Overlaps(b), b.Overlaps(a))
		}
	}
	if !(Selector{}).Covers(listed(t, "src 10.0.0.1-10.0.0.9")) || listed(t, "src 10.0.0.1-10.0.0.9").Covers(Selector{}) {
		t.Error("any does not cover a list, or a list covers any")
	}
}
