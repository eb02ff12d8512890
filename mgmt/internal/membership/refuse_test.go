// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/mesh"
	"sallyport/mgmt/internal/roster"
)

// TestRefused: a node that cannot be a member is refused in a sentence that both logs have, and the
// cluster goes on.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*rig, *box)
		inside string // the sentence of a member
		out    string // of the node that is refused
	}{
		{"version", func(_ *rig, b *box) { b.options.Version = 2 },
			"box-2 speaks version 2 of the cluster's protocol, and this node version 1", "box-2 speaks version 2 of the cluster's protocol"},
		{"certificate of another authority", func(r *rig, b *box) {
			stranger := certtest.NewAuthority(r.t, r.folder, "stranger")
			b.options.Identity = r.identity("box-2", stranger)
		}, "its certificate is not one that the file of trust has or has signed", "refuses this node's certificate, and its log says why"},
		{"another name than the certificate's", func(_ *rig, b *box) { b.options.Name = "box-7" },
			"box-7 says a name that is not its own", "box-7 says a name that is not its own"},
		{"an id that is taken", func(_ *rig, b *box) { b.options.Slot = 1 },
			"the id 1 is that of box-1: give box-2 another id", "give box-2 another id"},
		{"a name that is taken", func(r *rig, b *box) { b.options.Name, b.options.Identity = "box-1", r.identity("box-1", r.authority) },
			"box-1", "give each"},
		{"another configuration", func(_ *rig, b *box) { b.options.Digest = func() string { return "another" } },
			"the configuration of box-2 differs from that of box-", "load the same on both"},
		{"another number of slots", func(_ *rig, b *box) { b.options.Slots = 8 },
			"box-2 is configured for a cluster of 8 slots, and box-", "write the same number on both"},
		{"an id beyond the slots", func(_ *rig, b *box) { b.options.Slot = 100 },
			"slot 100 is not one of the cluster's 4", "slot 100 is not one of the cluster's 4"},
		{"another cluster", func(_ *rig, b *box) { b.options.Found = true },
			"is of another cluster than", "is of another cluster than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := cluster(t, 2, 4)
			b := r.box(2, 4)
			c.change(r, b)
			alone := b.options.Found
			listener := b.listen(b.options.Address.String())
			b.options.Listener = listener
			b.options.Log = b.options.Log.With("refused", true)
			if alone { // its buckets are those of a cluster of its own, which the rig leaves out
				b.options.Chips = deaf{}
			}
			node, err := Start(b.options)
			r.must(err)
			defer node.Close()
			r.until("both say why", func() bool {
				return (r.logged("box=0", c.inside) || r.logged("box=1", c.inside)) && r.logged("box=2", "refused=true", c.out)
			})
			r.shared(r.boxes[:2]...)
			if !alone && !r.idle(2) {
				t.Error("a node that was refused has buckets")
			}
		})
	}
}

// deaf are chips without a part in the cluster of the rig.
type deaf struct{}

// SetOwned does nothing.
func (deaf) SetOwned(roster.Set) error { return nil }

// SetSpeaker does nothing.
func (deaf) SetSpeaker(bool) error { return nil }

// Raise does nothing.
func (deaf) Raise(context.Context, roster.Set) error { return nil }

// Stop does nothing.
func (deaf) Stop() error { return nil }

// TestDigestLater: a member whose configuration differs when it comes back gets no bucket until it
// is the same again; one that has buckets keeps them while the configuration changes.
func TestDigestLater(t *testing.T) {
	r := cluster(t, 3, 4)
	b := r.others(r.leader())[0]
	digest := make(chan string, 1)
	digest <- "another"
	b.options.Digest = func() string {
		now := <-digest
		digest <- now
		return now
	}
	b.stop()
	r.shared(r.others(b)...)
	b.start()
	r.until("it says why", func() bool { return strings.Contains(b.node.Status().Why, "load the same on both") })
	if !r.idle(b.slot) {
		t.Error("it has buckets")
	}
	<-digest
	digest <- "same"
	r.shared(r.boxes...)
	<-digest
	digest <- "new"
	time.Sleep(2 * leaseBeats * heartbeat)
	r.shared(r.boxes...)
}

// TestNewDisk: a box that has lost its state joins anew with its id, once it counts as dead.
func TestNewDisk(t *testing.T) {
	r := cluster(t, 3, 4)
	b := r.boxes[2]
	b.stop()
	b.options.Folder = filepath.Join(r.folder, "new")
	b.start()
	r.shared(r.boxes...)
	r.until("raft has three servers", func() bool { return r.voters() == 3 })
}

// TestNewAddress: a member comes back at another address.
func TestNewAddress(t *testing.T) {
	r := cluster(t, 3, 4)
	b := r.boxes[1]
	b.stop()
	moved := r.box(1, 4)
	r.boxes = r.boxes[:3]
	b.options.Address = moved.options.Address
	b.start()
	r.shared(r.boxes...)
}

// TestOptions: what cannot be is refused in one sentence before anything starts.
func TestOptions(t *testing.T) {
	r := newRig(t)
	for want, change := range map[string]func(*Options){
		"is too short":           func(o *Options) { o.Heartbeat = time.Millisecond },
		"needs a name":           func(o *Options) { o.Name = "" },
		"cannot reach":           func(o *Options) { o.Address = netip.AddrPort{} },
		"the address of another": func(o *Options) { o.Found = false },
	} {
		o := r.box(len(r.boxes), 128).options
		o.Join, o.Found = nil, true
		change(&o)
		if _, err := Start(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	r.boxes = nil
}

// TestNoWallClock: a clock that is set changes nothing. The roster takes the time from its callers,
// and this package from a clock that no setting changes; time.Now is for limits of connections
// alone, where Go counts its monotonic part.
func TestNoWallClock(t *testing.T) {
	may := map[string]bool{"layers.go": true} // of a packet's arrival
	for _, folder := range []string{".", "../roster"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") && !may[filepath.Base(file)] && strings.Contains(string(text), "time.Now()") {
				t.Errorf("%s reads the wall clock", file)
			}
		}
	}
}

// TestStarting: others may ask before raft runs.
func TestStarting(t *testing.T) {
	n := &Node{started: make(chan struct{})}
	for _, method := range []string{methodTerm, methodBeat, methodJoin, methodRemove} {
		if _, err := n.answer(t.Context(), mesh.Hello{}, method, []byte("{}")); err == nil || !strings.Contains(err.Error(), "starting") {
			t.Errorf("%s: %v", method, err)
		}
	}
}
