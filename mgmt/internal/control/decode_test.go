// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzUnquote: the text of a string is what encoding/json makes of it.
func FuzzUnquote(f *testing.F) {
	for _, seed := range []string{"", "aead \"x\" 0x00", "\\u0041", "a\u00e9\U0001f600", "\n\t\x00", "\\"} {
		text, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`"\ud83d\ude00\ud83d\u0041\ud83d"`))
	f.Add([]byte(`"\/\b\f\r\u00e9"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want string
		var got Line
		if json.Unmarshal(text, &want) != nil {
			return
		}
		if text = []byte(strings.TrimSpace(string(text))); text[0] != '"' {
			return
		}
		if err := json.Unmarshal(text, &got); err != nil || string(got) != want {
			// encoding/json replaces bytes that are not UTF-8; here they stay, for a key may
			// have any.
			if strings.ContainsRune(want, '\ufffd') {
				return
			}
			t.Errorf("%q gives %q, want %q (%v)", text, got, want, err)
		}
	})
}

// TestDecode: fields that a request does not have, and values of another kind, are named without
// what they hold.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1,"do":"batch","lines":["a"],"file":"f"}`:   "",
		`{"id":1,"do":"batch","Lines":["a"]}`:              "",
		`{"id":1,"do":"batch","lines":["a"],"secret":"k"}`: `unknown field "secret"`,
		`{"id":1,"do":"batch","lines":[7]}`:                `the field "lines" cannot be a JSON number of that size or kind`,
		`{"id":1,"do":"batch","lines":"k"}`:                `the field "lines" cannot be a JSON string of that size or kind`,
		`[]`:                                               "the line is no JSON object",
		`{"id":1} {}`:                                      "the line is no JSON object: it is wrong at byte 10",
	} {
		var batch Batch
		got := ""
		if err := Decode([]byte(text), &batch); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
