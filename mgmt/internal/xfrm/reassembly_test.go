package xfrm

import (
	"strings"
	"testing"
	"time"
)

// TestReassembly: both limits as they are written, and every mistake a sentence.
func TestReassembly(t *testing.T) {
	for words, want := range map[string]Reassembly{
		"reassembly set timeout 30 per-source 16":     {Timeout: 30 * time.Second, PerSource: 16},
		"reas set per-source 65535":                   {PerSource: 65535},
		"reassembly set timeout 114s":                 {Timeout: 114 * time.Second},
		"reassembly set per-source 0x10 timeout 35ms": {Timeout: 35 * time.Millisecond, PerSource: 16},
	} {
		if got, err := Parse(Words(strings.Fields(words))); err != nil || got != want {
			t.Errorf("%s: %+v, %v", words, got, err)
		}
	}
	if got, err := Parse(Words([]string{"reassembly", "show"})); err != nil || got != (Show{What: "reassembly"}) {
		t.Errorf("show: %+v, %v", got, err)
	}
	for words, reason := range map[string]string{
		"reassembly set":                       "write `reassembly set [timeout TIME] [per-source N]`",
		"reassembly frob":                      "reassembly \"frob\" is not supported: use set or show",
		"reassembly set timeout":               "the line ends where the time after timeout should follow",
		"reassembly set timeout 0":             "timeout must be 1 to 114 seconds, or 4ms to 114000ms, not \"0\"",
		"reassembly set timeout 115":           "not \"115\"",
		"reassembly set timeout 3ms":           "not \"3ms\"",
		"reassembly set timeout 1h":            "not \"1h\"",
		"reassembly set timeout 60 per-source": "the line ends where the number after per-source should follow",
		"reassembly set per-source 0":          "per-source must be 1 to 65535 datagrams, not 0",
		"reassembly set per-source 65536":      "per-source must be 1 to 65535 datagrams, not 65536",
		"reassembly set frob 5":                "unexpected word \"frob\"",
	} {
		if _, err := Parse(Words(strings.Fields(words))); err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %q", words, err, reason)
		}
	}
	if _, err := ParseBatch("f", []byte("reassembly set timeout 5")); err == nil || !strings.Contains(err.Error(), "f:1: reassembly is a command of sallyctl alone") {
		t.Errorf("in a batch: %v", err)
	}
}
