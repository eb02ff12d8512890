// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/xfrm"
)

// before is a file of format 7, as version 0.2 wrote it.
const before = `{"format":7,"generation":77,"model":{"sas":[{"src":"192.0.2.2","dst":"192.0.2.1","proto":"esp","spi":8193,"mode":"tunnel","reqid":1,"replay_window":64,"flags":{},
"aead":{"name":"rfc4106(gcm(aes))","key_bits":160,"icv_bits":128},"way":"in","row":3,"window_rows":[5],"started":true,"age":9}],
"policies":[{"src":"10.2.0.0/16","dst":"10.1.0.0/16","dir":"fwd","action":"allow","priority":7,"index":18,"age":4},{"src":"10.3.0.0/16","dst":"10.1.0.0/16","dir":"out","action":"block","priority":0,"index":25,"age":2,"usage":1}],
"addrs":[{"prefix":"192.0.2.1/24","dev":"black"}],"links":{"black":{"mtu":1400},"red":{}},"routes":null,"neighs":null,"learned":{"black 192.0.2.9":"02:00:00:00:00:09"},"next_age":9,"last_index":25},
"image":{"flow":{},"sad":{"6":[8193,0,0,0,0,260,3]},"inner_rule":{"2":{"owner":"src 10.3.0.0/16 dst 10.1.0.0/16","row":[1,2,3]}},"outer_rule":{},"selector":{"3":[7,8]},"tunnel":{},"red_hop":{},"black_hop":{"1":{"ip":"192.0.2.9","row":[33554432,2304]}},"out_keys":[],"in_keys":[3]},
"hops":["black 192.0.2.9"]}`

func load(t *testing.T, path string) *store.State {
	t.Helper()
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.Load()
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestTakeOver: a file of format 7 becomes one of this format, at its own place or, with the files
// beside it, at that which it has now.
func TestTakeOver(t *testing.T) {
	for _, moved := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "box.state")
		old := path
		if moved {
			old += ".json"
			for _, beside := range []string{".keys", ".journal"} {
				if err := os.WriteFile(old+beside, []byte(beside), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.WriteFile(old, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it has this format
			state := load(t, path)
			sa := state.Model.SAs.Find(xfrm.ID{Dst: netip.MustParseAddr("192.0.2.1"), Proto: "esp", SPI: 8193})
			if sa == nil || sa.Row != 3 || !sa.Started || !slices.Equal(sa.WindowRows, []int{5}) || state.Model.SAs.At(xfrm.DirIn, 3) != sa || state.Model.SAs.Len() != 1 {
				t.Errorf("%+v", sa)
			}
			var policies []string
			for p := range state.Model.Policies.All() {
				policies = append(policies, p.Selector.String())
			}
			if want := []string{"src 10.2.0.0/16 dst 10.1.0.0/16", "src 10.3.0.0/16 dst 10.1.0.0/16"}; !slices.Equal(policies, want) {
				t.Errorf("%v, want %v", policies, want)
			}
			image := state.Image
			if state.Generation != 77 || state.Model.Links[xfrm.Black].MTU != 1400 || len(state.Model.Learned) != 1 || len(state.Hops) != 1 || state.Model.NextAge != 9 {
				t.Errorf("%+v", state)
			}
			if !slices.Equal(image.SAD[6], compile.Row{8193, 0, 0, 0, 0, 260, 3}) || image.InnerRule[2].Owner != policies[1] || image.BlackHop[1].IP.String() != "192.0.2.9" || !image.InKeys.Has(3) || image.InKeys.Len() != 1 {
				t.Errorf("%+v", image)
			}
		}
		if _, err := os.Stat(path + ".json"); !errors.Is(err, fs.ErrNotExist) {
			t.Error("the old file is still there")
		}
		for _, beside := range []string{".keys", ".journal"} {
			if text, err := os.ReadFile(path + beside); moved && (err != nil || string(text) != beside) {
				t.Errorf("%s: %q, %v", beside, text, err)
			}
		}
	}
}

// TestDamaged: a sentence says why a file is not a state file, and the file is left alone.
func TestDamaged(t *testing.T) {
	for text, reason := range map[string]string{
		"{":                       "is damaged",
		`{"format":6}`:            "has format 6, this program reads 7 and 8",
		strings.Repeat("x", 9000): "is damaged (invalid database)",
	} {
		path := filepath.Join(t.TempDir(), "box.state")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := store.Open(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, reason)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("the file was changed: %v", err)
		}
	}
}

// TestSaved: a state that is stored whole is read as it was.
func TestSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.state")
	state := store.NewState()
	var read struct {
		Model *model.Model `json:"model"`
	}
	if err := json.Unmarshal([]byte(before), &read); err != nil {
		t.Fatal(err)
	}
	state.Model, state.Generation = read.Model, 5
	state.Image.Flow = map[int]compile.Row{4: {1, 0xffffffff}}
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SaveAll(state), s.Close()); err != nil {
		t.Fatal(err)
	}
	again := load(t, path)
	if again.Generation != 5 || !reflect.DeepEqual(again.Image.Flow, state.Image.Flow) || again.Model.SAs.Len() != 1 || again.Model.Policies.Len() != 2 || !reflect.DeepEqual(again.Model.Network, state.Model.Network) {
		t.Errorf("%+v", again)
	}
}

// TestLearned: hosts outlive the program, as they were in the last change that had others, and a
// file of before that has them among the rest gives them.
func TestLearned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.state")
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	host := func(n byte) model.NextHop {
		return model.NextHop{Dev: xfrm.Red, IP: netip.AddrFrom4([4]byte{10, 1, 0, n})}
	}
	one := map[model.NextHop]xfrm.MAC{host(1): {2, 0, 0, 0, 0, 1}}
	two := map[model.NextHop]xfrm.MAC{host(1): {2, 0, 0, 0, 0, 1}, host(2): {2, 0, 0, 0, 0, 2}}
	for _, learned := range []map[model.NextHop]xfrm.MAC{one, one, two, two, one, nil, two} {
		state.Model.Learned = learned
		state.Generation++
		if err := s.Save(state); err != nil {
			t.Fatal(err)
		}
		again, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		if len(learned) != len(again.Model.Learned) || len(learned) > 0 && !reflect.DeepEqual(again.Model.Learned, learned) || again.Generation != state.Generation {
			t.Errorf("%v, want %v", again.Model.Learned, learned)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := load(t, path).Model.Learned; !reflect.DeepEqual(got, two) {
		t.Errorf("%v, want %v", got, two)
	}

	// A program of before writes others among the rest; this one takes these, and keeps them.
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		bucket := tx.Bucket([]byte("rest"))
		var rest map[string]any
		if err := json.Unmarshal(bucket.Get([]byte("rest")), &rest); err != nil {
			return err
		}
		rest["network"].(map[string]any)["learned"] = one
		text, err := json.Marshal(rest)
		return errors.Join(err, bucket.Put([]byte("rest"), text))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(path); err != nil {
		t.Fatal(err)
	}
	if state, err = s.Load(); err != nil {
		t.Fatal(err)
	}
	state.Generation++
	if err := errors.Join(s.Save(state), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got := load(t, path).Model.Learned; !reflect.DeepEqual(got, one) {
		t.Errorf("%v, want %v", got, one)
	}
}
