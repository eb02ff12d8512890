// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTFCWords: at the ends of what is taken, and what is printed is what is read.
func TestTFCWords(t *testing.T) {
	for words, want := range map[string]struct {
		pad, length uint32
		every       time.Duration
		turns       uint64
		printed     string
	}{
		"":                              {},
		"tfcpad 0":                      {},
		"tfcpad 20":                     {pad: 20},
		"dir out tfcpad 0x3e8":          {pad: 1000},
		"tfcpad 9582":                   {pad: 9582},
		"dummy 20 every 1us":            {0, 20, time.Microsecond, 19, "dummy 20 every 1us"},
		"dummy 9582 every 100s":         {0, 9582, 100 * time.Second, 1875000000, "dummy 9582 every 100s"},
		"tfcpad 64 dummy 64 every 16us": {64, 64, 16 * time.Microsecond, 300, "dummy 64 every 16us"},
		"dummy 0x578 every 16us":        {0, 1400, 16 * time.Microsecond, 300, "dummy 1400 every 16us"},
		"dummy 64 every 2000us":         {0, 64, 2 * time.Millisecond, 37500, "dummy 64 every 2ms"},
		"dummy 64 every 1500ms":         {0, 64, 1500 * time.Millisecond, 28125000, "dummy 64 every 1500ms"},
	} {
		s := parseOne(t, "xfrm state add "+sa+"mode tunnel "+words+" "+gcm).(StateAdd).State
		if s.TFCPad != want.pad || (s.Dummy == nil) != (want.length == 0) {
			t.Errorf("%q: %+v", words, s)
		}
		if d := s.Dummy; d != nil && (*d != Dummy{want.length, want.every} || d.Turns() != want.turns || fmt.Sprint(d) != want.printed) {
			t.Errorf("%q: %v, %d turns, %s", words, *d, d.Turns(), d)
		}
	}
}

// TestTFCRefusals: one sentence each, just outside of what is taken and where it would
// mean nothing.
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
