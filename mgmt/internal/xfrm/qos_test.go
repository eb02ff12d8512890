package xfrm

import (
	"strings"
	"testing"
)

// TestQoS: names and values are those of IANA's registry "Differentiated Services Field Codepoints".
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
