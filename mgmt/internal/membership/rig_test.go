// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/roster"
	"sallyport/mgmt/internal/testbox"
)

// heartbeat is short, and patience long: a test waits for an event, and never for a time.
const (
	heartbeat = 150 * time.Millisecond
	patience  = time.Minute
)

// rig is a cluster in one process, with chips that note who has what, and links that can be cut.
type rig struct {
	t         *testing.T
	folder    string
	authority *certtest.Authority
	out       testbox.Log
	wiring

	mu       sync.Mutex
	sequence int
	has      map[int]roster.Set
	speaks   map[int]bool
	faults   []string
	boxes    []*box
}

// box is one node, as it is started again and again.
type box struct {
	*rig
	slot    int
	options Options
	node    *Node
	raises  int
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, folder: t.TempDir(), has: map[int]roster.Set{}, speaks: map[int]bool{}}
	r.wiring = wiring{cuts: map[[2]int]bool{}, slots: map[string]int{}}
	r.authority = certtest.NewAuthority(t, r.folder, "authority")
	t.Cleanup(func() {
		for _, b := range r.boxes {
			b.stop()
		}
		for _, fault := range r.faults {
			t.Error(fault)
		}
		if t.Failed() {
			t.Log(r.out.String())
		}
	})
	return r
}

// identity is that of a name whose certificate an authority has signed.
func (r *rig) identity(name string, by *certtest.Authority) func() *mutual.Identity {
	r.t.Helper()
	by.Sign(r.t, r.folder, name)
	own, err := mutual.ReadAnyCertificates(filepath.Join(r.folder, name+".pem"))
	r.must(err)
	key, err := mutual.ReadKey(filepath.Join(r.folder, name+".key"))
	r.must(err)
	trust, err := mutual.ReadAnyCertificates(filepath.Join(r.folder, "authority.pem"))
	r.must(err)
	identity, err := mutual.New(own, key, trust)
	r.must(err)
	return func() *mutual.Identity { return identity }
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// box makes a node that is not started yet. The first one founds the cluster.
func (r *rig) box(slot, slots int) *box {
	name := fmt.Sprint("box-", slot)
	b := &box{rig: r, slot: slot}
	listener := r.listen("127.0.0.1:0")
	address := netip.MustParseAddrPort(listener.Addr().String())
	listener.Close()
	b.options = Options{
		Slot: slot, Slots: slots, Name: name, Address: address, Folder: filepath.Join(r.folder, fmt.Sprint("state-", len(r.boxes))),
		Identity: r.identity(name, r.authority), Digest: func() string { return "same" }, Heartbeat: heartbeat, Chips: b,
		Log: slog.New(slog.NewTextHandler(&r.out, nil)).With("box", slot), Found: len(r.boxes) == 0,
	}
	for _, other := range r.boxes {
		b.options.Join = append(b.options.Join, other.options.Address.String())
	}
	r.name(address.String(), slot)
	b.options.Dial = func(ctx context.Context, to string) (net.Conn, error) { return r.dial(ctx, slot, to) }
	r.boxes = append(r.boxes, b)
	return b
}

func (r *rig) listen(address string) net.Listener {
	r.t.Helper()
	listener, err := net.Listen("tcp", address)
	r.must(err)
	return listener
}

func (b *box) start() *box {
	b.t.Helper()
	b.options.Listener = b.listen(b.options.Address.String())
	node, err := Start(b.options)
	b.must(err)
	b.node = node
	return b
}

// stop ends a node as the end of its program does: its chips are stopped at once.
func (b *box) stop() {
	if b.node != nil {
		if err := b.node.Close(); err != nil {
			b.t.Error(err)
		}
		b.node = nil
	}
}

// cluster starts nodes, and waits until each has its share and a vote.
func cluster(t *testing.T, count, slots int) *rig {
	t.Helper()
	r := newRig(t)
	for slot := range count {
		r.box(slot, slots).start()
	}
	r.until("all vote", func() bool { return r.voters() == count })
	r.shared(r.boxes...)
	return r
}

// shared waits until some nodes have all buckets between them, in equal shares, and one speaks.
func (r *rig) shared(among ...*box) {
	r.t.Helper()
	r.until(fmt.Sprint(len(among), " nodes share the buckets"), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		total, speakers := 0, 0
		for _, b := range among {
			own := r.has[b.slot].Count()
			if own < roster.Buckets/len(among) || own > roster.Buckets/len(among)+1 {
				return false
			}
			total += own
			if r.speaks[b.slot] {
				speakers++
			}
		}
		return total == roster.Buckets && speakers == 1
	})
}

// until waits for something.
func (r *rig) until(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(heartbeat / 10) {
		if time.Now().After(end) {
			r.t.Fatalf("in %v it did not come to pass that %s", patience, what)
		}
	}
}

// said waits until the log has a sentence of one node.
func (r *rig) said(slot int, words string) {
	r.t.Helper()
	r.until(fmt.Sprintf("node %d says %q", slot, words), func() bool { return r.logged(fmt.Sprint("box=", slot), words) })
}

// logged says whether a line of the log has some words.
func (r *rig) logged(words ...string) bool {
	for line := range strings.Lines(r.out.String()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return true
		}
	}
	return false
}

// leader waits for the node that leads.
func (r *rig) leader() (leader *box) {
	r.t.Helper()
	r.until("there is a leader", func() bool {
		for _, b := range r.boxes {
			if b.node != nil && b.node.leads.Load() != nil {
				leader = b
				return true
			}
		}
		return false
	})
	return leader
}

// others are all nodes but one.
func (r *rig) others(not *box) (others []*box) {
	for _, b := range r.boxes {
		if b != not {
			others = append(others, b)
		}
	}
	return others
}

// idle says that a node's chips have nothing.
func (r *rig) idle(slot int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has[slot] == roster.Set{} && !r.speaks[slot]
}

// SetOwned notes what a node takes, and whether another has it.
func (b *box) SetOwned(owned roster.Set) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sequence++
	for slot, has := range b.has {
		if both := has.And(owned); slot != b.slot && both != (roster.Set{}) {
			b.faults = append(b.faults, fmt.Sprintf("step %d: %d buckets of node %d are node %d's, too", b.sequence, both.Count(), slot, b.slot))
		}
	}
	b.has[b.slot] = owned
	return nil
}

// SetSpeaker notes whether a node speaks, and whether another does.
func (b *box) SetSpeaker(speaks bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sequence++
	for slot, other := range b.speaks {
		if speaks && other && slot != b.slot {
			b.faults = append(b.faults, fmt.Sprintf("step %d: nodes %d and %d both speak", b.sequence, slot, b.slot))
		}
	}
	b.speaks[b.slot] = speaks
	return nil
}

// Raise notes that windows are raised.
func (b *box) Raise(_ context.Context, gained roster.Set) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.raises++
	for slot, has := range b.has {
		if both := has.And(gained); both != (roster.Set{}) {
			b.faults = append(b.faults, fmt.Sprintf("windows are raised for %d buckets that node %d still has", both.Count(), slot))
		}
	}
	return nil
}

// Stop notes that a node has nothing.
func (b *box) Stop() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sequence++
	b.has[b.slot], b.speaks[b.slot] = roster.Set{}, false
	return nil
}
