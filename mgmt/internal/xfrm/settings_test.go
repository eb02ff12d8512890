// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"strings"
	"testing"
	"time"
)

// TestQoS: names and values are those of IANA's registry "Differentiated Services Field
// Codepoints".
func TestQoS(t *testing.T) {
	for line, want := range map[string]DSCPs{
		"dscp none": 0, "dscp 0": 1, "dscp cs6 cs7": ResetDSCPs, "dscp CS6,cs7": 1<<48 | 1<<56, "dscp ef": 1 << 46, "dscp 0x2e 46 EF": 1 << 46,
		"dscp af11 af12,af13": 1<<10 | 1<<12 | 1<<14, "dscp af41 af42 af43": 1<<34 | 1<<36 | 1<<38, "dscp voice-admit le": 1<<44 | 1<<1, "dscp 63": 1 << 63,
		"dscp cs1 cs2 cs3 cs4 cs5": 1<<8 | 1<<16 | 1<<24 | 1<<32 | 1<<40, "dscp af21,af22,af23,af31,af32,af33": 1<<18 | 1<<20 | 1<<22 | 1<<26 | 1<<28 | 1<<30,
	} {
		command, err := Parse(Words(strings.Fields("qos set " + line)))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if marked := command.(QoS).Marked; marked != want {
			t.Errorf("%s: %#x, want %#x", line, marked, want)
		}
		if again, err := Parse(Words(strings.Fields("qos set dscp " + want.String()))); err != nil || again.(QoS).Marked != want {
			t.Errorf("%s is printed as %q: %v, %v", line, want, again, err)
		}
	}
	if text := (ResetDSCPs | 1<<46 | 1<<2 | 1<<34).String(); text != "2 af41 ef cs6 cs7" {
		t.Error(text)
	}
	for line, reason := range map[string]string{
		"set": "write `qos set dscp", "set dscp": "write `qos set dscp", "set ef": "write `qos set dscp", "add dscp ef": "use set or show",
		"set dscp ef 64": `"64" is no DSCP`, "set dscp ef,,cs6": `"" is no DSCP`, "set dscp af14": `"af14" is no DSCP`, "set dscp -1": "is no DSCP",
		"set dscp none ef": "none stands alone", "set dscp ef none": "none stands alone", "show ef": "unexpected word",
	} {
		_, err := Parse(Words(strings.Fields("qos " + line)))
		if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("qos %s: %v, want %q", line, err, reason)
		}
	}
	if _, err := ParseBatch("f", []byte("qos set dscp ef\n")); err == nil || !strings.HasPrefix(err.Error(), "f:1: qos is a command of sallyctl alone") {
		t.Error(err)
	}
}

// TestSkipHeaders: the set in the order of the register's bits, and one sentence for words that are
// no set.
func TestSkipHeaders(t *testing.T) {
	for words, want := range map[string]ExtensionHeaders{"none": 0, "hop": 1, "route": 2, "dst": 4, "dst,hop": 5, "hop,route,dst": AllExtensionHeaders} {
		for _, text := range []string{words, want.String()} {
			command, err := Parse(Words([]string{"skip-headers", "set", text}))
			if err != nil || command.(SkipHeaders).Skipped != want {
				t.Errorf("%s: %+v, %v", text, command, err)
			}
		}
	}
	for line, reason := range map[string]string{
		"set": "write `skip-headers set LIST`", "set frag": `"frag" is no extension header that can be skipped or not`, "set hop,": `"" is no extension header`,
		"set hop route": "unexpected word", "set none,hop": `"none" is no extension header`, "add hop": "use set or show", "show hop": "unexpected word",
	} {
		_, err := Parse(Words(strings.Fields("skip-headers " + line)))
		if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("skip-headers %s: %v, want %q", line, err, reason)
		}
	}
	if _, err := ParseBatch("f", []byte("skip-headers set hop\n")); err == nil || !strings.HasPrefix(err.Error(), "f:1: skip-headers is a command of sallyctl alone") {
		t.Error(err)
	}
}

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
