// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"strings"
	"testing"
	"time"
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

// TestTFCWords: values at the ends of their ranges are taken, and print as the same values.
func TestTFCWords(t *testing.T) {
	for words, want := range map[string]struct {
		pad, length uint32
		every       time.Duration
		printed     string
	}{
		"":                              {},
		"tfcpad 0":                      {},
		"tfcpad 20":                     {pad: 20},
		"dir out tfcpad 0x3e8":          {pad: 1000},
		"tfcpad 9582":                   {pad: 9582},
		"dummy 20 every 1us":            {0, 20, time.Microsecond, "dummy 20 every 1us"},
		"dummy 9582 every 100s":         {0, 9582, 100 * time.Second, "dummy 9582 every 100s"},
		"tfcpad 64 dummy 64 every 16us": {64, 64, 16 * time.Microsecond, "dummy 64 every 16us"},
		"dummy 0x578 every 16us":        {0, 1400, 16 * time.Microsecond, "dummy 1400 every 16us"},
		"dummy 64 every 2000us":         {0, 64, 2 * time.Millisecond, "dummy 64 every 2ms"},
		"dummy 64 every 1500ms":         {0, 64, 1500 * time.Millisecond, "dummy 64 every 1500ms"},
	} {
		s := parseOne(t, "xfrm state add "+sa+"mode tunnel "+words+" "+gcm).(StateAdd).State
		if s.TFCPad != want.pad || (s.Dummy == nil) != (want.length == 0) {
			t.Errorf("%q: %+v", words, s)
		}
		if d := s.Dummy; d != nil && (*d != Dummy{want.length, want.every} || fmt.Sprint(d) != want.printed) {
			t.Errorf("%q: %v, %s", words, *d, d)
		}
	}
}

// TestTFCRefusals: one sentence each, for values just outside of their ranges and for words that
// would mean nothing.
func TestTFCRefusals(t *testing.T) {
	add, transport := "xfrm state add "+sa+"mode tunnel ", "xfrm state add "+sa+"mode transport "
	for _, test := range []struct{ line, reason string }{
		{add + "tfcpad", "the line ends where the length after tfcpad should follow"},
		{add + "tfcpad x " + gcm, "the length after tfcpad must be a number of 0 to 4294967295, not \"x\""},
		{add + "tfcpad 19 " + gcm, "tfcpad must be 20 to 9582 bytes, or 0 for none, not 19"},
		{add + "tfcpad 9583 " + gcm, "tfcpad must be 20 to 9582 bytes, or 0 for none, not 9583"},
		{transport + "tfcpad 100 " + gcm, "tfcpad is not supported in transport mode"},
		{add + "dir in tfcpad 100 " + gcm, "tfcpad is of what an outbound SA sends, and the SA spi 0x1001 is inbound: leave it out"},
		{add + "dummy", "the line ends where the length after dummy should follow"},
		{add + "dummy 19 every 1ms " + gcm, "dummy packets must have 20 to 9582 bytes, as IP packets have, not 19"},
		{add + "dummy 9583 every 1ms " + gcm, "dummy packets must have 20 to 9582 bytes, as IP packets have, not 9583"},
		{add + "dummy 100", "the line ends where every TIME should follow"},
		{add + "dummy 100 at 1ms " + gcm, "dummy 100 must be followed by every TIME, not \"at\""},
		{add + "dummy 100 every", "the line ends where the time after every should follow"},
		{add + "dummy 100 every 0us " + gcm, "every must be a number with us, ms or s behind it, 1us to 100s, not \"0us\""},
		{add + "dummy 100 every 101s " + gcm, "not \"101s\""},
		{add + "dummy 100 every 100001ms " + gcm, "not \"100001ms\""},
		{add + "dummy 100 every 5 " + gcm, "not \"5\""},
		{add + "dummy 100 every 5ns " + gcm, "not \"5ns\""},
		{add + "dummy 100 every ms " + gcm, "not \"ms\""},
		{add + "dummy 100 every 5sm " + gcm, "not \"5sm\""},
		{add + "dummy 100 every 99999999999s " + gcm, "not \"99999999999s\""},
		{transport + "dummy 100 every 1ms " + gcm, "dummy is not supported in transport mode"},
		{add + "dir in dummy 100 every 1ms " + gcm, "dummy is of what an outbound SA sends"},
	} {
		_, err := ParseBatch("f", []byte(test.line))
		if err == nil || !strings.Contains(err.Error(), "f:1: ") || !strings.Contains(err.Error(), test.reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %q", test.line, err, test.reason)
		}
	}
}
