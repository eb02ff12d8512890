// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/peertest"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// full are the sizes of the largest box.
var full = fakebox.Sizes{SABits: 16, FlowBits: 16, SADBits: 17, Rules: 1024, NextHops: 256, HostBits: 14, PeerBits: 16, Window: 4096, Suites: fakebox.Small.Suites}

// standing is how many SAs stand each way: fewer than the box holds, so that there is room for
// new ones.
const standing = 60000

// sa is an SA of a tunnel, of a generation, with a key that was not used before.
func sa(way string, i, generation int) string {
	ends, spi := "src 192.0.2.1 dst 192.0.2.2", 0x10000
	if way == "in" {
		ends = "src 192.0.2.2 dst 192.0.2.1"
	}
	spi += generation<<18 + i
	return fmt.Sprintf("xfrm state add %s proto esp spi %#x reqid %d mode tunnel dir %s replay-window 64 aead 'rfc4106(gcm(aes))' 0x%032x%08x 128\n", ends, spi, i+1, way, (generation+1)<<32+i<<1+len(way)%2, i)
}

// gone deletes it.
func gone(way string, i, generation int) string {
	dst := "192.0.2.2"
	if way == "in" {
		dst = "192.0.2.1"
	}
	return fmt.Sprintf("xfrm state delete dst %s proto esp spi %#x\n", dst, 0x10000+generation<<18+i)
}

// tunnelOf is a tunnel with its policies, between hosts of its own.
func tunnelOf(i int) string {
	host := func(net int) string { return fmt.Sprintf("198.%d.%d.%d", net, i/256, i%256) }
	const out, in = "src 192.0.2.1 dst 192.0.2.2", "src 192.0.2.2 dst 192.0.2.1"
	return sa("out", i, 0) + sa("in", i, 0) +
		fmt.Sprintf("xfrm policy add src %s/32 dst %s/32 proto udp sport 4096 dport 4097 dir out tmpl %s proto esp reqid %d mode tunnel\n", host(18), host(19), out, i+1) +
		fmt.Sprintf("xfrm policy add src %s/32 dst %s/32 proto udp sport 4096 dport 4097 dir in tmpl %s proto esp reqid %d mode tunnel\n", host(19), host(18), in, i+1)
}

// crowd is a daemon of a box on which so many tunnels stand.
type crowd struct {
	b      *testing.B
	daemon *Daemon
	state  string
}

func newCrowd(b *testing.B, tunnels int) *crowd {
	b.Helper()
	chips, err := chip.Open(b.Context(), fakebox.New(full))
	if err != nil {
		b.Fatal(err)
	}
	c := &crowd{b: b, state: filepath.Join(b.TempDir(), "box.state")}
	s := &session.Session{Box: chips, StatePath: c.state}
	if err := s.Hold(b.Context()); err != nil {
		b.Fatal(err)
	}
	if c.daemon, err = New(s, slog.New(slog.NewTextHandler(io.Discard, nil)), "bench"); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.daemon.Close() })
	text := "addr add 192.0.2.1/24 dev black\nneigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black\nneigh add 192.0.2.3 lladdr 02:00:00:00:00:23 dev red\n"
	var lines strings.Builder
	lines.WriteString(text)
	for i := range tunnels {
		lines.WriteString(tunnelOf(i))
	}
	c.run(lines.String())
	return c
}

func (c *crowd) run(text string) {
	c.b.Helper()
	commands, err := xfrm.ParseBatch("f", []byte(text))
	if err == nil {
		_, err = c.daemon.Run(commands, session.Lists{})
	}
	if err != nil {
		c.b.Fatal(err)
	}
}

// size is that of the state file in MiB.
func (c *crowd) size() float64 {
	info, err := os.Stat(c.state)
	if err != nil {
		c.b.Fatal(err)
	}
	return float64(info.Size()) / (1 << 20)
}

// BenchmarkRekey replaces both SAs of a tunnel: new ones come, and then the old ones go, as
// with IKE.
func BenchmarkRekey(b *testing.B) {
	c := newCrowd(b, standing)
	var whole []time.Duration
	wait := c.watch()
	n := 0
	for b.Loop() {
		i, generation := n%standing, 1+n/standing
		n++
		begin := time.Now()
		c.run(sa("in", i, generation) + sa("out", i, generation))
		c.run(gone("out", i, generation-1) + gone("in", i, generation-1))
		whole = append(whole, time.Since(begin)/2)
	}
	slices.Sort(whole)
	b.ReportMetric(float64(whole[len(whole)/2].Microseconds())/1000, "ms/change")
	b.ReportMetric(float64(whole[len(whole)-1].Microseconds())/1000, "ms/longest-change")
	b.ReportMetric(float64(wait().Microseconds())/1000, "ms/longest-wait")
	b.ReportMetric(c.size(), "MiB-state")
}

// BenchmarkPathMTU has an SA learn path MTUs, as ICMP from black tells them.
func BenchmarkPathMTU(b *testing.B) {
	c := newCrowd(b, standing)
	v, err := c.daemon.view()
	if err != nil {
		b.Fatal(err)
	}
	sa := v.Model().SAs.Find(xfrm.ID{Dst: netip.MustParseAddr("192.0.2.2"), Proto: "esp", SPI: 0x10000})
	for mtu := uint32(1500); b.Loop(); {
		if mtu--; mtu == 1000 {
			b.Fatal("no lower path MTU is left: take -benchtime 400x or less")
		}
		if err := c.daemon.learnPaths(map[uint64]uint32{sa.Age: mtu}); err != nil {
			b.Fatal(err)
		}
	}
}

// watch asks for an SA all the time, until it is asked for the longest answer.
func (c *crowd) watch() (longest func() time.Duration) {
	end, most := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest := time.Duration(0)
		for {
			select {
			case <-end:
				most <- longest
				return
			default:
			}
			begin := time.Now()
			if _, err := c.daemon.queryState(&control.QueryState{Dst: "192.0.2.2", Proto: "esp", SPI: 0x10000 + standing - 1}); err != nil {
				c.b.Error(err)
			}
			longest = max(longest, time.Since(begin))
			time.Sleep(time.Millisecond)
		}
	}()
	return func() time.Duration {
		close(end)
		return <-most
	}
}

// BenchmarkBatch installs 1,000 tunnels without policies at a time beside half of the largest
// box's, and deletes them.
func BenchmarkBatch(b *testing.B) {
	const size = 1000
	c := newCrowd(b, standing/2)
	var spent time.Duration
	n := 0
	for b.Loop() {
		n++
		var add, end strings.Builder
		for i := range size {
			add.WriteString(sa("in", standing+i, n) + sa("out", standing+i, n))
			end.WriteString(gone("in", standing+i, n) + gone("out", standing+i, n))
		}
		begin := time.Now()
		c.run(add.String())
		spent += time.Since(begin)
		c.run(end.String())
	}
	b.ReportMetric(float64(2*size*n)/spent.Seconds(), "SAs/s")
	b.ReportMetric(c.size(), "MiB-state")
}

// link makes two boxes a pair whose daemons ask each other over loopback, as by
// default. The function returned kills a's.
func link(b *testing.B, each [2]*crowd) (kill func()) {
	b.Helper()
	a, other := peertest.Pair(b)
	var listeners [2]net.Listener
	var at [2]netip.AddrPort
	for i := range listeners {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		listeners[i], at[i] = listener, netip.MustParseAddrPort(listener.Addr().String())
	}
	var ends [2]func()
	for i, c := range each {
		d, known := c.daemon, func() *peer.Identity { return [2]*peer.Identity{a, other}[i] }
		p := &Pair{Side: [2]peer.Side{peer.SideA, peer.SideB}[i], Other: at[1-i], Identity: known, Client: peer.NewClient(at[1-i], at[i].Addr(), known), Interval: 500 * time.Millisecond, Dead: 2500 * time.Millisecond, Rate: 1000}
		if err := d.JoinPair(p); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return d.ServePair(ctx, listeners[i]) })
		group.Go(func() error { return d.FollowPair(ctx) })
		ends[i] = sync.OnceFunc(func() {
			cancel()
			if err := group.Wait(); err != nil {
				b.Error(err)
			}
		})
		b.Cleanup(ends[i])
	}
	return ends[0]
}

// BenchmarkTakeOver: of two boxes on which 60,000 tunnels stand, the active one is changed for a
// minute, 2,000 SAs at a time, and then killed. It is active until then.
func BenchmarkTakeOver(b *testing.B) {
	const size, changes = 1000, time.Minute
	each := [2]*crowd{newCrowd(b, standing), newCrowd(b, standing)}
	kill := link(b, each)
	active := func(i int) bool { return each[i].daemon.pair.facts.Status(time.Now()).Active }
	until := func(is func() bool) {
		for !is() {
			time.Sleep(time.Millisecond)
		}
	}
	until(func() bool { return active(0) })
	begin, n, oldest := time.Now(), 0, time.Duration(0)
	for b.Loop() {
		for time.Since(begin) < changes {
			n++
			var add, end strings.Builder
			for i := range size {
				add.WriteString(sa("in", standing+i, n) + sa("out", standing+i, n))
				end.WriteString(gone("in", standing+i, n) + gone("out", standing+i, n))
			}
			each[0].run(add.String())
			each[0].run(end.String())
			oldest = max(oldest, each[1].daemon.pair.facts.View(time.Now()).Silent)
			if active(1) || !active(0) {
				b.Fatal("the place moved during changes")
			}
		}
	}
	told := func() bool {
		d := each[1].daemon
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.pair.numbers) == 2*standing
	}
	until(told)
	begin = time.Now()
	kill()
	until(func() bool { return active(1) })
	b.ReportMetric(float64(n), "changes")
	b.ReportMetric(float64(oldest.Milliseconds()), "ms/oldest-answer")
	b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms/take-over")
}
