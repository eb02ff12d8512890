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

// TestOuterRefusals: one sentence each.
func TestOuterRefusals(t *testing.T) {
	add, transport := "xfrm state add "+sa+"mode tunnel ", "xfrm state add "+sa+"mode transport "
	add6 := "xfrm state add src 2001:db8::1 dst 2001:db8::2 proto esp spi 1 mode tunnel "
	for _, test := range []struct{ line, reason string }{
		{add + "df", "the line ends where set, unset or inherit should follow"},
		{add + "df yes " + gcm, "df must be set, unset or inherit, not \"yes\""},
		{add + "dscp", "the line ends where a DSCP should follow"},
		{add + "dscp 64 " + gcm, "dscp must be a number of 0 to 63, a name such as EF, AF41 or CS6, or inherit, not \"64\""},
		{add + "dscp AF44 " + gcm, "not \"AF44\""},
		{add + "dscp -1 " + gcm, "not \"-1\""},
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
