// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sallyport/mgmt/api"
)

// FuzzDocument: any text is a document, or one sentence without a key. A document is JSON by
// encoding/json, and its entries make lines that stay in their memory.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(both))
	for _, text := range variants {
		f.Add([]byte(text))
	}
	for _, test := range refused {
		f.Add([]byte(test.text))
	}
	f.Add([]byte(`{"a":"\ud83d\ude00\"","b":[-1.5e+3,true,null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := parseJSON(text)
		if err == nil && !json.Valid(text) {
			t.Errorf("%q is no JSON", text)
		}
		if v != nil && err != nil {
			t.Error("there is a value beside an error")
		}
		d, err := read(text)
		if err == nil {
			b := newBatch()
			err = b.merge(d, &contents{})
			if cap(b.text) != api.MaxMessage {
				t.Error("the lines have grown")
			}
		}
		var refusal *Refusal
		if err != nil && (!errors.As(err, &refusal) || strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), hexKey(20, 17))) {
			t.Errorf("%q", err)
		}
	})
}
