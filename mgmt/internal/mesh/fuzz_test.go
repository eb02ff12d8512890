// SPDX-License-Identifier: Apache-2.0

package mesh

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// FuzzFrames: whatever comes, a frame is within its bounds or one sentence says why not, and what a
// hello says can be logged.
func FuzzFrames(f *testing.F) {
	for _, text := range []string{`{"version":1,"purpose":"calls","slot":3,"id":"a","name":"b","address":"10.0.0.1:1"}`, `{"refused":"\u001b[2J"}`, "[]", "null", `{"method":"beat","body":{}}`} {
		var out bytes.Buffer
		if err := writeFrame(&out, []byte(text), mostCall); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		frame, err := readFrame(bytes.NewReader(in), mostCall)
		if err == nil {
			var out bytes.Buffer
			if err := writeFrame(&out, frame, mostCall); err != nil || !bytes.HasPrefix(in, out.Bytes()) {
				t.Errorf("%q, %v", out.Bytes(), err)
			}
		}
		if (err == nil) && (len(frame) == 0 || len(frame) > mostCall) {
			t.Errorf("%d bytes", len(frame))
		}
		var h Hello
		if readJSON(bytes.NewReader(in), mostHello, &h) == nil {
			h.clean()
			if strings.ContainsFunc(h.Name+h.Refused+string(h.Purpose)+h.Cluster+h.ID+h.Address, unicode.IsControl) {
				t.Errorf("%+v", h)
			}
		}
		var q question
		_ = readJSON(bytes.NewReader(in), mostCall, &q)
		var r reply
		_ = readJSON(bytes.NewReader(in), mostCall, &r)
	})
}
