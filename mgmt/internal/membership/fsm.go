// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"sallyport/mgmt/internal/roster"
)

// known is the roster, and the index of the entry that made it.
type known struct {
	*roster.State
	index uint64
}

// machine applies the entries of the log to the roster.
type machine struct {
	now     atomic.Pointer[known]
	changed chan struct{} // of the agent
}

func newMachine() *machine {
	m := &machine{changed: make(chan struct{}, 1)}
	m.now.Store(&known{State: roster.New()})
	return m
}

func (m *machine) put(k *known) {
	m.now.Store(k)
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Apply takes an entry; its result is an error that says why the command is refused, or nil.
func (m *machine) Apply(log *raft.Log) any {
	before := m.now.Load()
	c, err := roster.Decode(log.Data)
	next := before.State
	if err == nil {
		next, err = before.Changed(c)
	}
	m.put(&known{next, log.Index})
	if err != nil {
		return err
	}
	return nil
}

// image is a snapshot of the roster.
type image struct {
	Index uint64          `json:"index"`
	State json.RawMessage `json:"state"`
}

// Snapshot takes one.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	k := m.now.Load()
	return &image{k.index, k.State.Snapshot()}, nil
}

// Persist writes it.
func (i *image) Persist(sink raft.SnapshotSink) error {
	text, err := json.Marshal(i)
	if err == nil {
		_, err = sink.Write(text)
	}
	if err != nil {
		_ = sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release is of no use here.
func (i *image) Release() {}

// Restore takes the roster of a snapshot.
func (m *machine) Restore(in io.ReadCloser) error {
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, 2*roster.MostSnapshot))
	if err != nil {
		return err
	}
	var i image
	if err := json.Unmarshal(text, &i); err != nil {
		return fmt.Errorf("a snapshot of the roster cannot be read: %w", err)
	}
	s, err := roster.Restore(i.State)
	if err != nil {
		return err
	}
	m.put(&known{s, i.Index})
	return nil
}
