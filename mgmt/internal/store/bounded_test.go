// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/xfrm"
)

// TestBounded: the file grows no further however many rekeys there were, and holds little of its
// disk besides. SALLYPORT_STATE_REKEYS is how many there are in the long form.
func TestBounded(t *testing.T) {
	const standing = 1000
	rekeys := 6000
	if long, err := strconv.Atoi(os.Getenv("SALLYPORT_STATE_REKEYS")); err == nil {
		rekeys = long
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // each rekey waits for its disk
	}
	path := filepath.Join(t.TempDir(), "box.state")
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	state := store.NewState()
	state.Generation = 1
	row := func(words int) compile.Row { return make(compile.Row, words) }
	var once int64
	for n := range rekeys {
		next := state.Begin()
		ch := &next.Model.Changes
		sa := &model.SA{State: xfrm.State{Mode: "tunnel"}, Way: xfrm.DirOut, Row: n % standing, Age: uint64(n)}
		ch.SAs[sa.Age] = sa
		rows := []store.Kept{
			{Table: regs.OuterTableSad.Name, Index: n * 7919 % 65536, Row: row(regs.OuterTableSad.Words())},
			{Table: regs.OuterTableTunnel.Name, Index: sa.Row, Row: row(regs.OuterTableTunnel.Words())},
			{Table: regs.InnerTableSelector.Name, Index: sa.Row, Row: row(regs.InnerTableSelector.Words())},
		}
		if gone := n - standing; gone >= 0 {
			ch.GoneSAs[uint64(gone)] = sa
			rows = append(rows, store.Kept{Table: regs.OuterTableSad.Name, Index: gone * 7919 % 65536})
		}
		p := &plan.Plan{Target: &compile.Target{Part: &compile.Part{}}, Image: compile.NewImage()}
		if err := s.Reserve(p, next, true); err != nil {
			t.Fatal(err)
		}
		if err := s.SavePart(p, rows, next); err != nil {
			t.Fatal(err)
		}
		if n == rekeys/2 {
			once = size(t, path)
		}
	}
	if now := size(t, path); now > once {
		t.Errorf("the file has %d bytes after %d rekeys, and %d after half of them", now, rekeys, once)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if held := info.Sys().(*syscall.Stat_t).Blocks * 512; held > info.Size()+8<<20 {
		t.Errorf("the file is %d bytes long and holds %d on the disk", info.Size(), held)
	}
	t.Logf("%d bytes after %d rekeys", size(t, path), rekeys)
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
