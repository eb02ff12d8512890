package xfrm

import (
	"strings"
	"testing"
)

// TestSkipHeaders: the set in the order of the register's bits, and one sentence for what is none.
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
