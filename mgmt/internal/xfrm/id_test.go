// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"net/netip"
	"strings"
	"testing"
)

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
