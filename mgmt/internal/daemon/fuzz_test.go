// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/journal"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
)

// FuzzControl: the answer to any line is one line of JSON, with the request's id if it has one. A
// reader's request writes nothing.
func FuzzControl(f *testing.F) {
	folder := f.TempDir()
	fake := fakebox.New(fakebox.Small)
	b, err := chip.Open(f.Context(), fake)
	if err != nil {
		f.Fatal(err)
	}
	session := &session.Session{Box: b, StatePath: filepath.Join(folder, "state")}
	if err := session.Hold(f.Context()); err != nil {
		f.Fatal(err)
	}
	log := &testbox.Log{}
	d, err := New(session, journal.New(log, slog.LevelError, true), "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { d.Close() })
	if err := d.KeepConfig(filepath.Join(folder, "saved")); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(batch(tunnel...)), false)
	for do := range requests {
		f.Add([]byte(`{"id":1,"do":"`+do+`"}`), true)
	}
	for _, request := range []string{
		`{"id":"a","do":"command","words":["xfrm","state","list"],"statistics":true,"json":true}`, `{"id":[{}],"do":"config","verb":"load","lines":["qos set dscp ef"],"confirm":5}`,
		`{"id":null,"do":"query-policy","src":"10.1.0.0/16","dport":7,"dir":"out"}`, `{"id":1,"do":"alloc-spi","src":"1.2.3.4","dst":"4.3.2.1","min":256,"max":4294967295}`,
		`{"id":1,"do":"advance","dst":"192.0.2.2","proto":"esp","spi":4097,"number":18446744073709551615}`,
	} {
		f.Add([]byte(request), false)
	}
	f.Fuzz(func(t *testing.T, line []byte, reads bool) {
		var head struct{ ID json.RawMessage }
		known := json.Unmarshal(line, &head) == nil && len(head.ID) > 0
		writes := len(fake.Log)
		who := caller.Caller{}
		if reads {
			who = who.Reading()
		}
		answer, _ := d.answer(who, bytes.Clone(line))
		if reads && len(fake.Log) != writes {
			t.Errorf("a reader has written: %s", line)
		}
		fake.Log = nil
		var read struct {
			ID    json.RawMessage
			OK    *bool
			Error string
		}
		if bytes.Count(answer, []byte("\n")) != 1 || len(answer) > 4*control.MaxLine || json.Unmarshal(answer, &read) != nil || read.OK == nil {
			t.Fatalf("%q", answer)
		}
		if *read.OK == (read.Error != "") || bytes.Contains([]byte(read.Error), []byte("\n")) {
			t.Errorf("%s", answer)
		}
		if known && !sameJSON(head.ID, read.ID) {
			t.Errorf("%s answers %s", answer, head.ID)
		}
	})
}

// sameJSON compares two values, whose strings may be written in two ways.
func sameJSON(a, b json.RawMessage) bool {
	read := func(text json.RawMessage) (value any) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // of any size
		_ = decoder.Decode(&value)
		return value
	}
	return reflect.DeepEqual(read(a), read(b))
}
