// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"strings"
	"testing"
)

// TestOuterWords: what `df` and `dscp` of a state mean, and that names are those of the RFCs.
func TestOuterWords(t *testing.T) {
	for words, want := range map[string]struct {
		df             DF
		clears, sets   bool
		dscp           uint8
		copied, listed bool
	}{
		"":                             {"", false, false, 0, true, false},
		"df inherit":                   {DFInherit, false, false, 0, true, false},
		"df set":                       {DFSet, false, true, 0, true, false},
		"df unset":                     {DFUnset, true, false, 0, true, false},
		"flag nopmtudisc":              {"", true, false, 0, true, false},
		"dscp inherit":                 {"", false, false, 0, true, true},
		"dscp 0":                       {"", false, false, 0, false, true},
		"dscp 63":                      {"", false, false, 63, false, true},
		"dscp 0x2e":                    {"", false, false, 46, false, true},
		"dscp EF df set":               {DFSet, false, true, 46, false, true},
		"dscp af41":                    {"", false, false, 34, false, true},
		"dscp AF13":                    {"", false, false, 14, false, true},
		"dscp cs6":                     {"", false, false, 48, false, true},
		"dscp CS0":                     {"", false, false, 0, false, true},
		"dscp LE":                      {"", false, false, 1, false, true},
		"dscp Voice-Admit":             {"", false, false, 44, false, true},
		"extra-flag dont-encap-dscp":   {"", false, false, 0, false, false},
		"flag noecn dscp CS1 df unset": {DFUnset, true, false, 8, false, true},
	} {
		s := parseOne(t, "xfrm state add "+sa+"mode tunnel "+words+" "+gcm).(StateAdd).State
		dscp, copied := s.OuterDSCP()
		if s.DF != want.df || s.ClearsDF() != want.clears || s.SetsDF() != want.sets || dscp != want.dscp || copied != want.copied || s.DSCP.Given != want.listed {
			t.Errorf("%q: %+v", words, s)
		}
	}
	if len(dscpNames) != 3+8+12 {
		t.Errorf("%d names", len(dscpNames))
	}
}

// TestDSCPMap: names and numbers, and the list that is printed is read again.
func TestDSCPMap(t *testing.T) {
	for words, want := range map[string]string{
		"46:34": "map 46:34", "EF:AF41,cs6:0,0:63": "map 0:63,46:34,48:0", "0x2e:le": "map 46:1",
	} {
		for _, text := range []string{words, strings.TrimPrefix(want, "map ")} {
			s := parseOne(t, "xfrm state add "+sa+"mode tunnel dscp map "+text+" "+gcm).(StateAdd).State
			if _, copied := s.OuterDSCP(); s.DSCP.String() != want || copied || !s.DSCP.Given {
				t.Errorf("%q: %+v", text, s.DSCP)
			}
		}
	}
}

// TestForDSCP: of SAs in both modes, in the words that are read again.
func TestForDSCP(t *testing.T) {
	for _, mode := range []string{"tunnel", "transport"} {
		for words, want := range map[string]DSCPs{"ef,46,AF41": 1<<46 | 1<<34, "0": 1, "63,le": 1<<63 | 1<<1} {
			for _, text := range []string{words, want.Words()} {
				s := parseOne(t, "xfrm state add "+sa+"mode "+mode+" dir out for-dscp "+text+" "+gcm).(StateAdd).State
				if s.ForDSCP != want {
					t.Errorf("%q: %v", text, s.ForDSCP)
				}
			}
		}
	}
}

// TestOuterRefusals: one sentence each.
func TestOuterRefusals(t *testing.T) {
	add, transport := "xfrm state add "+sa+"mode tunnel ", "xfrm state add "+sa+"mode transport "
	add6 := "xfrm state add src 2001:db8::1 dst 2001:db8::2 proto esp spi 1 mode tunnel "
	for _, test := range []struct{ line, reason string }{
		{add + "df", "the line ends where set, unset or inherit should follow"},
		{add + "df yes " + gcm, "df must be set, unset or inherit, not \"yes\""},
		{add + "dscp", "the line ends where a DSCP should follow"},
		{add + "dscp 64 " + gcm, "dscp must be a number of 0 to 63, a name such as EF, AF41 or CS6, inherit, or map and a list, not \"64\""},
		{add + "dscp AF44 " + gcm, "not \"AF44\""},
		{add + "dscp -1 " + gcm, "not \"-1\""},
		{add + "dscp map", "the line ends where a list such as 46:34,af11:0 should follow"},
		{add + "dscp map 46 " + gcm, "dscp map needs pairs of the inner and the outer DSCP, such as 46:34,af11:0, not \"46\""},
		{add + "dscp map 46:0, " + gcm, "not \"\""},
		{add + "dscp map 64:0 " + gcm, "\"64\" is no DSCP"},
		{add + "dscp map ef:af44 " + gcm, "\"af44\" is no DSCP"},
		{add + "dscp map ef:1:2 " + gcm, "\"1:2\" is no DSCP"},
		{add + "dscp map ef:0,46:1 " + gcm, "dscp map has DSCP 46 twice"},
		{add + "extra-flag dont-encap-dscp dscp map 46:1 " + gcm, "dscp map 46:1 and extra-flag dont-encap-dscp"},
		{add + "dir in dscp map 46:1 " + gcm, "dscp is of the outer header that an outbound SA makes"},
		{add + "for-dscp", "the line ends where the DSCPs should follow"},
		{add + "for-dscp ef,64 " + gcm, "\"64\" is no DSCP"},
		{add + "for-dscp ef, " + gcm, "\"\" is no DSCP"},
		{add + "dir in for-dscp ef " + gcm, "for-dscp is of outbound SAs alone, and the SA spi 0x1001 is inbound"},
		{transport + "df set " + gcm, "df is of the outer header, and an SA in transport mode makes none"},
		{transport + "dscp 5 " + gcm, "dscp is of the outer header, and an SA in transport mode makes none"},
		{add6 + "df set " + gcm, "df is of an outer IPv4 header, and this SA has IPv6 endpoints"},
		{add + "dir in df inherit " + gcm, "df is of the outer header that an outbound SA makes, and the SA spi 0x1001 is inbound: leave it out"},
		{add + "dir in dscp EF " + gcm, "dscp is of the outer header that an outbound SA makes"},
		{add + "df set flag nopmtudisc " + gcm, "df set and flag nopmtudisc, which is df unset, are of one bit: write one of them"},
		{add + "extra-flag dont-encap-dscp dscp 46 " + gcm, "dscp 46 and extra-flag dont-encap-dscp, which is dscp 0, are of one field: write one of them"},
	} {
		_, err := ParseBatch("f", []byte(test.line))
		if err == nil || !strings.Contains(err.Error(), "f:1: ") || !strings.Contains(err.Error(), test.reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %q", test.line, err, test.reason)
		}
	}
	parseOne(t, add6+"dscp EF "+gcm)
}
