// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sallyport/mgmt/internal/fakebox"
)

// hold lets the next change, or restoration, stop in its middle: `entered` is closed once it is
// there, and it goes on with `end`.
func (r *rig) hold() (entered chan struct{}, end func()) {
	entered, gone := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	r.daemon.mu.Lock()
	defer r.daemon.mu.Unlock()
	r.daemon.session.Alive = func() {
		if first.CompareAndSwap(false, true) {
			close(entered)
			<-gone
		}
	}
	return entered, func() { close(gone) }
}

const neighbour = "neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black"

// TestReadersDoNotWait: while a change has written a part of its rows, readers see the state
// before it.
func TestReadersDoNotWait(t *testing.T) {
	r := newRig(t)
	r.must(append([]string{neighbour}, tunnel...)...)
	registry := prometheus.NewRegistry()
	registry.MustRegister(NewMetrics(r.daemon))
	ask := func() (out []string) {
		for _, request := range []string{
			`"do":"list","what":"state"`, `"do":"list","what":"policy"`, `"do":"command","words":["neigh","show"]`, `"do":"command","words":["xfrm","state","list"]`,
			`"do":"query-state","dst":"192.0.2.2","proto":"esp","spi":4097`, `"do":"counters"`, `"do":"capabilities"`,
		} {
			out = append(out, r.dial().ask(`{"id":1,`+request+"}"))
		}
		if _, err := registry.Gather(); err != nil {
			t.Error(err)
		}
		return out
	}
	before := ask()
	entered, end := r.hold()
	changed := make(chan struct{})
	client := r.dial()
	go func() {
		defer close(changed)
		client.ask(batch("neigh replace 192.0.2.2 lladdr 02:00:00:00:00:23 dev black", "xfrm state flush"))
	}()
	<-entered
	r.same("meanwhile", ask(), before)
	if spi := r.get("alloc-spi", `,"src":"192.0.2.2","dst":"192.0.2.1","min":8193,"max":8194`); spi["spi"] != float64(8194) {
		t.Errorf("0x2001 is in use: %v", spi)
	}
	end()
	<-changed
	after := ask()
	r.same("no SA", after[0], `{"id":1,"ok":true,"items":[]}`)
	if !strings.Contains(after[2], "02:00:00:00:00:23") {
		t.Error(after[2])
	}
}

// TestReadersSeeWhatTheChipsHold: after a reset no reader sees the state before it; a reader that
// asks while the daemon restores the box sees the box's contents at that time.
func TestReadersSeeWhatTheChipsHold(t *testing.T) {
	r := newRig(t)
	r.must(append([]string{neighbour}, tunnel...)...)
	r.fake.Reset()
	for _, words := range [][]string{{"neigh", "show"}, {"xfrm", "policy", "list"}, {"xfrm", "state", "list"}} {
		answer := r.get("command", fmt.Sprintf(`,"words":["%s"]`, strings.Join(words, `","`)))
		r.same(words[0], answer["output"], "")
	}
	entered, end := r.hold()
	polled := make(chan error)
	go func() {
		r.daemon.mu.Lock()
		defer r.daemon.mu.Unlock()
		polled <- r.daemon.poll()
	}()
	<-entered
	var done atomic.Bool
	told := make(chan string)
	client := r.dial()
	go func() {
		text := client.ask(`{"id":1,"do":"command","words":["neigh","show"]}`)
		done.Store(true)
		told <- text
	}()
	for range 100 {
		runtime.Gosched()
	}
	if done.Load() {
		t.Error("answered before the box was restored")
	}
	end()
	if err := <-polled; err != nil {
		t.Fatal(err)
	}
	if text := <-told; !strings.Contains(text, "192.0.2.2 dev black") {
		t.Error(text)
	}
	if v, err := r.daemon.session.View(); v == nil || err != nil || v.Model().SAs.Len() != 0 {
		t.Errorf("%v, %v", v, err)
	}
}

// TestViewOfABrokenChange: what a change left half done is not shown by itself, and the next poll
// undoes it.
func TestViewOfABrokenChange(t *testing.T) {
	r := newRig(t)
	r.must(tunnel...)
	r.fake.OnRow = func(fakebox.Row) { r.fake.FailAfter = 1 }
	if answer := r.dial().ask(batch(neighbour, "xfrm policy flush")); !strings.Contains(answer, "did not finish") {
		t.Fatal(answer)
	}
	r.fake.OnRow, r.fake.FailAfter = nil, 0
	if v, err := r.daemon.session.View(); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	r.poll()
	r.same("neighbours", r.get("command", `,"words":["neigh","show"]`)["output"], "")
}
